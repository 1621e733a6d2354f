import type { components } from '../api/schema';

export type Pending = components['schemas']['PendingView'];

/**
 * The outcome of a pending change if nobody acts: with a guard it is kept, without one it is reverted. Users who may
 * not see the change get just "ends".
 */
export function outlook(change: Pending): 'reverted' | 'kept' | 'ends' {
  if (change.author === undefined) return 'ends';
  return change.guard ? 'kept' : 'reverted';
}

/** The time for which the end of a trial is shown, in milliseconds. */
const fresh = 24 * 60 * 60_000;

/** The last change that was reverted automatically: its guard was violated, or nobody confirmed it. */
export function reverted(change: Pending | undefined, now: number): NonNullable<Pending['last']> | undefined {
  const { last } = change ?? {};
  return last?.outcome === 'went back' && now - Date.parse(last.at) < fresh ? last : undefined;
}
