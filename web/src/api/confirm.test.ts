import { describe, expect, it, vi } from 'vitest';
import { confirming, isWaiting, settle } from './confirm';

const refused = (code?: string) => new Response(JSON.stringify({ message: 'no', code }), { status: 403 });
const done = () => new Response('{}', { status: 200 });

describe('confirming', () => {
  it('repeats a call once the session is confirmed', async () => {
    const send = vi.fn().mockResolvedValueOnce(refused('confirm_session')).mockResolvedValueOnce(done());
    const call = confirming(send);
    await vi.waitFor(() => expect(isWaiting()).toBe(true));
    settle(true);
    expect((await call).status).toBe(200);
    expect(send).toHaveBeenCalledTimes(2);
    expect(isWaiting()).toBe(false);
  });

  it('leaves a call refused that nobody confirms', async () => {
    const send = vi.fn().mockResolvedValueOnce(refused('confirm_session'));
    const call = confirming(send);
    await vi.waitFor(() => expect(isWaiting()).toBe(true));
    settle(false);
    expect(await (await call).json()).toEqual({ message: 'no', code: 'confirm_session' });
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('asks for nothing when a call is refused for another reason', async () => {
    for (const answer of [refused(), done(), new Response('<', { status: 403 })]) expect(await confirming(() => Promise.resolve(answer))).toBe(answer);
    expect(isWaiting()).toBe(false);
  });
});
