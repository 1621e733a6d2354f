/** The time before the end when the warning appears, in milliseconds. */
export const warningTime = 60_000;

const kept = 'sluice.used';

/**
 * The time of the last user activity in any tab. Open pages poll the appliance permanently, so its own session timeout
 * never expires.
 */
export function lastUsed(): number {
  return Number(localStorage.getItem(kept)) || 0;
}

export function noteUse(now: number) {
  localStorage.setItem(kept, String(now));
}

export type Idleness = { state: 'active' | 'warned' | 'ended'; left: number };

/** The state of a session that ends after a period without activity; left is in seconds. */
export function idleness(now: number, used: number, life: number): Idleness {
  const left = used + life - now;
  const state = left <= 0 ? 'ended' : left <= warningTime ? 'warned' : 'active';
  return { state, left: Math.max(0, Math.ceil(left / 1000)) };
}
