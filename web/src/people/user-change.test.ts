import { describe, expect, it, vi } from 'vitest';
import type { User } from './queries';
import { createUser, setUser } from './user-change';

vi.stubGlobal('location', { origin: 'https://appliance' });
const ann = { name: 'ann', service: 'local', webgui_permissions: 'true', zapi_permissions: 'false', group: 'ops', totp: 'false' } as User;

describe('a user', () => {
  it('is created in a group and let in', () => {
    const change = createUser({ name: 'zed', password: 'secret-1', webgui_permissions: 'true', group: 'ops' }, '');
    expect(change.command.split('\n')).toEqual(['sluice user create zed --group ops', 'sluice user set zed webgui_permissions=true']);
    expect(change.call).toContain('ops');
  });
  it('of no named group sends none: that is the own one of a confined administrator', () => expect(createUser({ name: 'zed', group: '' }, '').call).not.toContain('group'));
  it('of the directory has no password', () => expect(createUser({ name: 'zed', service: 'ldap' }, '').command).toBe('sluice user create zed --ldap'));
  it('who is not let in is not let in', () => expect(createUser({ name: 'zed', webgui_permissions: 'false' }, '').command).toBe('sluice user create zed'));
  it('leaves the group it is in for another one', () => {
    expect(setUser(ann, { group: 'all' }, '').command.split('\n')).toEqual(['sluice group remove ops ann', 'sluice group add all ann']);
    expect(setUser(ann, { group: '' }, '').command).toBe('sluice group remove ops ann');
    expect(setUser({ ...ann, group: '' }, { group: 'all' }, '').command).toBe('sluice group add all ann');
  });
  it('gets a password that no command line holds', () => {
    const change = setUser(ann, { newpassword: 'secret-2', zapikey: 'AnnsKey123', zapi_permissions: 'true' }, '');
    expect(change.command.split('\n')).toEqual(['sluice user password ann', "sluice user set ann 'zapikey=***' zapi_permissions=true"]);
    expect(change.call + change.difference).not.toMatch(/secret-2|AnnsKey123/);
  });
});
