import { describe, expect, it, vi } from 'vitest';
import { order, renew, restoreCertificate, setRenewal, undoReplacement } from './actions';

vi.stubGlobal('location', { origin: 'https://appliance' });

describe('orders', () => {
  it('are the words of the command line', () => {
    expect(order({ domains: ['*.example.com', 'example.com'], challenge: 'dns-01', test: 'true' }, '').command).toBe("sluice acme order '*.example.com' example.com --dns --test");
    expect(order({ domains: ['example.com'], farmname: 'web' }, '').command).toBe('sluice acme order example.com --farmname web');
    expect(renew('a.pem', true, '').command).toBe('sluice acme renew a.pem --force');
    expect(renew('a.pem', false, '').call).toContain('{"action":"renew"}');
  });
});

describe('how a certificate is renewed', () => {
  const seen = { autorenewal: 'true', farmname: 'web', vip: '' };
  it('is sent whole', () => expect(setRenewal('a.pem', seen, { autorenewal: 'false' }, '').call).toContain('{"autorenewal":"false","farmname":"web"}'));
  it('is at one place', () => {
    const change = setRenewal('a.pem', seen, { vip: '192.0.2.1' }, '');
    expect(change.call).toContain('{"autorenewal":"true","vip":"192.0.2.1"}');
    expect(change.command).toBe('sluice acme set a.pem --renew=true --vip 192.0.2.1');
  });
});

describe('a restore', () => {
  const known = { fingerprint: 'AA', previous: { fingerprint: 'BB' } };
  const body = { action: 'restore', fingerprint: 'AA', previous: 'BB' };
  it('names the certificates that the page shows', () => expect(restoreCertificate('a.pem', '', known).call).toContain(JSON.stringify(body)));
  it('names those of the replacement that is undone, because it is forced', async () => {
    const sent: unknown[] = [];
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      sent.push(new URL(url, 'https://appliance').search, JSON.parse(String(init.body)));
      return Promise.resolve(new Response('{"message":"replaced meanwhile"}', { status: 412 }));
    });
    await expect(undoReplacement('a.pem', known)).rejects.toMatchObject({ status: 412 });
    expect(sent).toEqual(['?force=true', body]);
  });
});
