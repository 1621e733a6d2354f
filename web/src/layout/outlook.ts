import type { components } from '../api/schema';

export type Pending = components['schemas']['PendingView'];

/**
 * What becomes of a pending change if nobody acts: without a guard it is reverted, with one
 * it is kept. Who may not see the change is not told which.
 */
export function outlook(change: Pending): 'reverted' | 'kept' | 'ends' {
  if (change.author === undefined) return 'ends';
  return change.guard ? 'kept' : 'reverted';
}

/** How long the end of a trial is worth showing, in milliseconds. */
const fresh = 24 * 60 * 60_000;

/** The last change that was reverted by itself: its guard was violated, or nobody confirmed it. */
export function reverted(change: Pending | undefined, now: number): NonNullable<Pending['last']> | undefined {
  const { last } = change ?? {};
  return last?.outcome === 'went back' && now - Date.parse(last.at) < fresh ? last : undefined;
}
