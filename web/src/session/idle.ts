/** Milliseconds before the end from which on a warning is shown. */
export const warningTime = 60_000;

const kept = 'sluice.used';

/**
 * When somebody last used the GUI, in whichever tab. Pages ask the appliance all the
 * time, so its own clock of the session never ends one that was left open.
 */
export function lastUsed(): number {
  return Number(localStorage.getItem(kept)) || 0;
}

export function noteUse(now: number) {
  localStorage.setItem(kept, String(now));
}

export type Idleness = { state: 'active' | 'warned' | 'ended'; left: number };

/** How it stands with a session that ends after so much time without use; left is in seconds. */
export function idleness(now: number, used: number, life: number): Idleness {
  const left = used + life - now;
  const state = left <= 0 ? 'ended' : left <= warningTime ? 'warned' : 'active';
  return { state, left: Math.max(0, Math.ceil(left / 1000)) };
}
