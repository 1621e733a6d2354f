import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Listener } from './live';

class Source {
  static last: Source;
  static count = 0;
  static CLOSED = 2;
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  closed = false;
  listeners: Record<string, () => void> = {};
  constructor() {
    Source.last = this;
    Source.count++;
  }
  addEventListener(event: string, does: () => void) {
    this.listeners[event] = does;
  }
  close() {
    this.closed = true;
  }
}

class Channel {
  static all = new Set<Channel>();
  onmessage?: (e: { data: string }) => void;
  constructor() {
    Channel.all.add(this);
  }
  postMessage(data: string) {
    for (const other of Channel.all) if (other !== this) other.onmessage?.({ data });
  }
  close() {
    Channel.all.delete(this);
  }
}

/** The Web Locks API for a single lock name. */
class Locks {
  private held = false;
  private waiting: (() => void)[] = [];
  async request(_: string, { ifAvailable, signal }: { ifAvailable?: boolean; signal?: AbortSignal }, does: (lock: object | null) => Promise<unknown>): Promise<unknown> {
    if (this.held && ifAvailable) return does(null);
    while (this.held)
      await new Promise<void>((next, end) => {
        this.waiting.push(next);
        signal?.addEventListener('abort', () => end(new Error('aborted')));
      });
    this.held = true;
    try {
      return await does({});
    } finally {
      this.held = false;
      this.waiting.splice(0).forEach((next) => next());
    }
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('EventSource', Source);
  vi.stubGlobal('BroadcastChannel', Channel);
  vi.stubGlobal('navigator', { locks: new Locks() });
  Source.count = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  Channel.all.clear();
});

const settled = () => vi.advanceTimersByTimeAsync(0);

it('asks again for everything when a broken stream begins again, and never at the first', async () => {
  const changed = vi.fn(), back = vi.fn();
  const listener = new Listener(changed, back);
  listener.open();
  await settled();
  Source.last.onopen?.();
  vi.runAllTimers();
  expect([changed.mock.calls.length, back.mock.calls.length]).toEqual([0, 0]);

  const first = Source.last;
  first.onerror?.(); // the browser reconnects
  first.onopen?.();
  vi.runAllTimers();
  expect(Source.last).toBe(first);
  expect([changed.mock.calls.length, back.mock.calls.length]).toEqual([1, 1]);
  expect(changed.mock.calls[0][0]).toContainEqual(['history']);

  first.readyState = Source.CLOSED;
  first.onerror?.(); // refused: the browser does not reconnect
  vi.runAllTimers();
  expect(Source.last).not.toBe(first);
  expect(back).toHaveBeenCalledTimes(1); // the new stream is not open yet
  Source.last.onopen?.();
  vi.runAllTimers();
  expect([changed.mock.calls.length, back.mock.calls.length]).toEqual([2, 2]);
});

it('reads one stream for all tabs, and another tab goes on when that one is left', async () => {
  const tabs = [0, 1, 2].map(() => {
    const heard = vi.fn(), back = vi.fn();
    return { heard, back, listener: new Listener(heard, back) };
  });
  for (const tab of tabs) {
    tab.listener.open();
    await settled();
  }
  Source.last.onopen?.();
  vi.runAllTimers();
  tabs.forEach((tab) => tab.heard.mockClear());
  expect(Source.count).toBe(1);

  Source.last.listeners.revision();
  vi.runAllTimers();
  for (const tab of tabs) expect(tab.heard.mock.calls[0][0]).toContainEqual(['history']);

  const first = Source.last;
  tabs[1].listener.close(); // this one never had the stream
  tabs[0].listener.close();
  await settled();
  expect(first.closed).toBe(true);
  expect(Source.count).toBe(2);
  Source.last.onopen?.();
  vi.runAllTimers();
  expect([tabs[0], tabs[1], tabs[2]].map((tab) => tab.heard.mock.calls.length)).toEqual([1, 1, 2]);

  tabs[0].listener.open(); // this tab is visible again
  await settled();
  vi.runAllTimers();
  expect(Source.count).toBe(2);
  expect(tabs[0].heard).toHaveBeenCalledTimes(2);
});

it('reads a stream of its own where a browser has no locks', async () => {
  vi.stubGlobal('navigator', {});
  new Listener(vi.fn(), vi.fn()).open();
  new Listener(vi.fn(), vi.fn()).open();
  await settled();
  expect(Source.count).toBe(2);
});
