import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

const byEvent = {
  revision: [['farms'], ['farm'], ['history'], ['pending'], ['status'], ['timeline'], ['findings']],
  status: [['farms'], ['farm'], ['numbers'], ['status'], ['timeline']],
};

/** Asks anew what an event of the appliance says has changed, many at once as one. */
export function useLive(on: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!on) return;
    const source = new EventSource('/api/v4.0/changes/stream');
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const keys = new Map<string, string[]>();
    for (const [event, changed] of Object.entries(byEvent)) {
      source.addEventListener(event, () => {
        for (const key of changed) keys.set(key.join('/'), key);
        waiting ??= setTimeout(() => {
          waiting = undefined;
          for (const queryKey of keys.values()) void client.invalidateQueries({ queryKey });
          keys.clear();
        }, 200);
      });
    }
    return () => {
      clearTimeout(waiting);
      source.close();
    };
  }, [on, client]);
}
