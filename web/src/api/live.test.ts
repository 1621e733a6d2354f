import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Listener } from './live';

class Source {
  static last: Source;
  static CLOSED = 2;
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  closed = false;
  constructor() {
    Source.last = this;
  }
  addEventListener() {}
  close() {
    this.closed = true;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('EventSource', Source);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('asks again for everything when a broken stream begins again, and never at the first', () => {
  const changed = vi.fn(), back = vi.fn();
  const listener = new Listener(changed, back);
  listener.open();
  Source.last.onopen?.();
  vi.runAllTimers();
  expect([changed.mock.calls.length, back.mock.calls.length]).toEqual([0, 0]);

  const first = Source.last;
  first.onerror?.(); // the browser opens it again
  first.onopen?.();
  vi.runAllTimers();
  expect(Source.last).toBe(first);
  expect([changed.mock.calls.length, back.mock.calls.length]).toEqual([1, 1]);
  expect(changed.mock.calls[0][0]).toContainEqual(['history']);

  first.readyState = Source.CLOSED;
  first.onerror?.(); // refused: the browser gives up
  vi.runAllTimers();
  expect(Source.last).not.toBe(first);
  expect(back).toHaveBeenCalledTimes(1); // it has not begun yet
  Source.last.onopen?.();
  vi.runAllTimers();
  expect([changed.mock.calls.length, back.mock.calls.length]).toEqual([2, 2]);
});
