import { Refused } from '../api/client';
import type { Record } from './types';

/** The chosen records by ID, as they were last read. */
export type Chosen = ReadonlyMap<number, Record>;

/** The chosen records with their current values as far as a page shows them; the same map if nothing differs. */
export function refreshed(chosen: Chosen, shown: readonly Record[]): Chosen {
  const newer = shown.filter((r) => chosen.has(r.id) && chosen.get(r.id) !== r);
  return newer.length === 0 ? chosen : new Map([...chosen, ...newer.map((r) => [r.id, r] as const)]);
}

/** The chosen records without those that do not exist according to the refusal of a change; the same map if it names none. */
export function existing(chosen: Chosen, refusal: unknown): Chosen {
  if (!(refusal instanceof Refused)) return chosen;
  const gone = [...refusal.message.matchAll(/\bresource (\d+) does not exist/g)].map((found) => Number(found[1]));
  return gone.some((id) => chosen.has(id)) ? new Map([...chosen].filter(([id]) => !gone.includes(id))) : chosen;
}
