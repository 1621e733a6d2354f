import { expect, it, vi } from 'vitest';
import { setSource } from './sources';

vi.stubGlobal('location', { origin: 'https://appliance' });

it('shows no secret, and asks for it on the command line', () => {
  const change = setSource('ldap', { host: '', bind_password: '***' }, { host: 'ldap.test', bind_password: 'hidden' }, 'Directory');
  expect(change.command).toBe('sluice user ldap config host=ldap.test --bind-password');
  expect(change.difference).toBe('+ host: ldap.test\n- bind_password: ***\n+ bind_password: ***');
  expect(change.call).not.toContain('hidden');
});

it('names what is set by its own command', () => {
  expect(setSource('services', {}, { ldap: 'true' }, 'Users').command).toBe('sluice user services ldap=true');
  expect(setSource('oidc', {}, { client_secret: 's' }, 'Provider').command).toBe('sluice user oidc config --client-secret');
});
