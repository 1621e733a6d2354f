import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

const byEvent = {
  revision: [['farms'], ['farm'], ['history'], ['pending'], ['status'], ['timeline'], ['findings']],
  status: [['farms'], ['farm'], ['numbers'], ['status'], ['timeline']],
};

/** What happens within this time is asked for at once, in milliseconds. */
const gather = 500;

/** How long to wait before a refused stream is opened again, in milliseconds. */
const later = 5_000;

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
 * Listener hears of changes while it is open. When a stream begins after another one, also of all that may have changed
 * between them; queries that failed meanwhile are sent again. A browser opens a broken stream again without a word.
 */
export class Listener {
  private source?: EventSource;
  private waiting?: ReturnType<typeof setTimeout>;
  private readonly keys = new Map<string, string[]>();
  private before = false;

  constructor(
    private readonly changed: (keys: string[][]) => void,
    private readonly back: () => void,
  ) {}

  open() {
    if (this.source) return;
    clearTimeout(this.waiting);
    this.waiting = undefined;
    this.source = new EventSource('/api/v4.0/changes/stream');
    for (const [event, keys] of Object.entries(byEvent)) this.source.addEventListener(event, () => this.note(keys));
    this.source.onopen = () => this.begun();
    this.source.onerror = () => this.retry();
  }

  private begun() {
    if (this.before) {
      this.note(Object.values(byEvent).flat());
      this.back();
    }
    this.before = true;
  }

  close() {
    this.source?.close();
    this.source = undefined;
    clearTimeout(this.waiting);
    this.waiting = undefined;
  }

  /** Browsers give up on a stream that was refused, e.g. while the appliance starts; it is opened again a little later. */
  private retry() {
    if (this.source?.readyState !== EventSource.CLOSED) return;
    this.close();
    this.waiting = setTimeout(() => this.open(), later);
  }

  private note(keys: string[][]) {
    for (const key of keys) this.keys.set(key.join('/'), key);
    this.waiting ??= setTimeout(() => {
      this.waiting = undefined;
      const all = [...this.keys.values()];
      this.keys.clear();
      this.changed(all);
    }, gather);
  }
}
