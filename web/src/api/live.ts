import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

const byEvent = {
  revision: [['farms'], ['farm'], ['zone'], ['history'], ['pending'], ['status'], ['timeline'], ['findings']],
  status: [['farms'], ['farm'], ['numbers'], ['status'], ['timeline']],
};

/** Events within this time, in milliseconds, cause a single refetch. */
const gather = 500;

/** The pause before a refused stream is opened again, in milliseconds. */
const later = 5_000;

/** One of the visible tabs of a browser holds this lock and reads the stream. */
const lock = 'sluice.changes';

/** The message that the tab with the stream sends to the others when the stream opens. */
const anew = 'anew';

/** Refetches the data that an event of the appliance names. A hidden tab refetches when it becomes visible. */
export function useLive(on: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!on) return;
    const listener = new Listener(
      (keys) => {
        // A second request for the history would cancel the request for its next page.
        for (const queryKey of keys) void client.invalidateQueries({ queryKey }, { cancelRefetch: queryKey[0] !== 'history' });
      },
      () => void client.invalidateQueries({ predicate: (query) => query.state.status === 'error' }),
    );
    const look = () => (document.hidden ? listener.close() : listener.open());
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      listener.close();
    };
  }, [on, client]);
}

/**
 * Listener receives changes while it is open. Of several listeners in one browser, one reads the stream and forwards
 * its events to the others. The appliance allows few streams per user, and an HTTP/1 browser few connections. When a
 * stream opens after an earlier one, all listeners also get every change that they may have missed in between, and
 * failed queries are sent again. Browsers reconnect a broken stream silently.
 */
export class Listener {
  private source?: EventSource;
  private others?: BroadcastChannel;
  private leave?: AbortController;
  private again?: ReturnType<typeof setTimeout>;
  private gathering?: ReturnType<typeof setTimeout>;
  private readonly keys = new Map<string, string[]>();
  private before = false;

  constructor(
    private readonly changed: (keys: string[][]) => void,
    private readonly back: () => void,
  ) {}

  open() {
    if (this.leave) return;
    const leave = (this.leave = new AbortController());
    this.others = new BroadcastChannel(lock);
    this.others.onmessage = (e: MessageEvent<string>) => this.hear(e.data);
    if (this.before) this.missed();
    void this.read(leave.signal).catch(() => {
      if (!leave.signal.aborted) this.connect(); // without locks each tab has its own stream
    });
  }

  close() {
    this.leave?.abort();
    this.others?.close();
    this.source?.close();
    clearTimeout(this.again);
    clearTimeout(this.gathering);
    this.leave = this.others = this.source = this.again = this.gathering = undefined;
  }

  /** Reads the stream once no other tab does. */
  private async read(leave: AbortSignal) {
    if (!('locks' in navigator)) return this.connect();
    const ended = new Promise<void>((end) => leave.addEventListener('abort', () => end()));
    const hold = async (held: Lock | null) => {
      if (!held || leave.aborted) return held !== null;
      this.connect();
      await ended;
      return true;
    };
    if (await navigator.locks.request(lock, { ifAvailable: true }, hold)) return;
    this.before = true; // another tab reads it, and this one may miss changes in between
    await navigator.locks.request(lock, { signal: leave }, hold).catch(() => undefined); // closed
  }

  private connect() {
    this.source = new EventSource('/api/v4.0/changes/stream');
    for (const event of Object.keys(byEvent)) this.source.addEventListener(event, () => this.tell(event));
    this.source.onopen = () => this.begun();
    this.source.onerror = () => this.retry();
  }

  /**
   * Reopens a refused stream after a pause, because browsers do not retry it. The appliance refuses streams e.g. while
   * it starts.
   */
  private retry() {
    if (this.source?.readyState !== EventSource.CLOSED) return;
    this.source.close();
    this.again = setTimeout(() => this.connect(), later);
  }

  private begun() {
    this.others?.postMessage(anew);
    if (this.before) this.missed();
    this.before = true;
  }

  private tell(event: string) {
    this.others?.postMessage(event);
    this.hear(event);
  }

  private hear(event: string) {
    if (event === anew) this.missed();
    else this.note(byEvent[event as keyof typeof byEvent] ?? []);
  }

  /** Refetches everything that may have changed while no tab read the stream. */
  private missed() {
    this.note(Object.values(byEvent).flat());
    this.back();
  }

  private note(keys: string[][]) {
    for (const key of keys) this.keys.set(key.join('/'), key);
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      const all = [...this.keys.values()];
      this.keys.clear();
      this.changed(all);
    }, gather);
  }
}
