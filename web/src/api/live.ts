import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

const byEvent = {
  revision: [['farms'], ['farm'], ['zone'], ['history'], ['pending'], ['status'], ['timeline'], ['findings']],
  status: [['farms'], ['farm'], ['numbers'], ['status'], ['timeline']],
};

/** What happens within this time is asked for at once, in milliseconds. */
const gather = 500;

/** How long to wait before a refused stream is opened again, in milliseconds. */
const later = 5_000;

/** Of all tabs of a browser that somebody looks at, one holds this lock and has the stream. */
const lock = 'sluice.changes';

/** What the tab with the stream tells the others when it begins, beside the events. */
const anew = 'anew';

/** Asks anew what an event of the appliance says has changed; a tab nobody looks at asks when somebody does again. */
export function useLive(on: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!on) return;
    const listener = new Listener(
      (keys) => {
        // A second request for the history would cancel that for its next page.
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
 * Listener hears of changes while it is open. Of several in one browser, one reads the stream and tells the others:
 * the appliance has few streams for each user, and a browser that speaks HTTP/1 few connections. When a stream begins
 * after another one, the listeners hear also of all that may have changed between them; queries that failed meanwhile
 * are sent again. A browser opens a broken stream again without a word.
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
      if (!leave.signal.aborted) this.connect(); // without a lock: a stream of its own
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

  /** Reads the stream as soon as no other tab does. */
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
    this.before = true; // another tab reads it, and this one may miss what happens between the two
    await navigator.locks.request(lock, { signal: leave }, hold).catch(() => undefined); // it is closed
  }

  private connect() {
    this.source = new EventSource('/api/v4.0/changes/stream');
    for (const event of Object.keys(byEvent)) this.source.addEventListener(event, () => this.tell(event));
    this.source.onopen = () => this.begun();
    this.source.onerror = () => this.retry();
  }

  /** Browsers give up on a stream that was refused, e.g. while the appliance starts; it is opened again a little later. */
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

  /** Asks for all that may have changed while nobody read the stream. */
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
