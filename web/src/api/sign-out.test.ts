import { beforeEach, describe, expect, it, vi } from 'vitest';

vi.stubGlobal('location', { origin: 'https://appliance' });
const kept = new Map<string, string>();
vi.stubGlobal('localStorage', { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => kept.set(k, v), removeItem: (k: string) => kept.delete(k) });
class Absolute extends Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === 'string' ? new URL(input, 'https://appliance') : input, init);
  }
}
vi.stubGlobal('Request', Absolute);

/** The calls, and the status of the next answer; 0 is a lost network. */
const sent: string[] = [];
let status = 200;
vi.stubGlobal('fetch', (r: Request) => {
  sent.push(`${r.method} ${new URL(r.url).pathname}`);
  return status === 0 ? Promise.reject(new TypeError('network')) : Promise.resolve(new Response(JSON.stringify(status === 200 ? { params: { user: 'ann' } } : { message: 'x' }), { status, headers: { 'Content-Type': 'application/json' } }));
});

const { cancelSignOut, finishSignOut, isSigningOut, requestSignOut } = await import('./sign-out');
const { queries } = await import('./queries');
const who = () => (queries.who.queryFn as () => Promise<unknown>)();

describe('a sign-out', () => {
  beforeEach(() => {
    kept.clear();
    sent.length = 0;
    status = 200;
  });
  it('is not sent unless somebody wants it', async () => {
    await finishSignOut();
    expect(sent).toEqual([]);
  });
  it.each([200, 401])('is done with %d', async (answer) => {
    requestSignOut();
    status = answer;
    await finishSignOut();
    expect([isSigningOut(), sent]).toEqual([false, ['DELETE /api/v4.0/session']]);
  });
  it.each([0, 403, 500, 503])('is not done with %d', async (answer) => {
    requestSignOut();
    status = answer;
    await expect(finishSignOut()).rejects.toMatchObject({ status: answer });
    expect(isSigningOut()).toBe(true);
  });
  it('is not tried again by a user who stays', async () => {
    requestSignOut();
    status = 500;
    await expect(finishSignOut()).rejects.toMatchObject({ status: 500 });
    cancelSignOut();
    status = 200;
    await who();
    expect([isSigningOut(), sent]).toEqual([false, ['DELETE /api/v4.0/session', 'GET /api/v4.0/system/info']]);
  });
  it('comes before anything is shown', async () => {
    requestSignOut();
    status = 0;
    await expect(who()).rejects.toMatchObject({ status: 0 });
    expect(sent).toEqual(['DELETE /api/v4.0/session']);
    status = 200;
    await who();
    expect(sent.slice(1)).toEqual(['DELETE /api/v4.0/session', 'GET /api/v4.0/system/info']);
  });
});
