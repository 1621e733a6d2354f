import { applyChange, type Change } from '../change/change';

/** The state of one of several restarts; an Error is the reason why it failed. */
export type Outcome = 'waiting' | 'running' | 'done' | Error;

/**
 * Makes changes one after the other. A failure does not stop the others. note is called with each new outcome and the
 * warnings; stopped is asked before each change.
 */
export async function oneByOne(changes: Change[], note: (index: number, outcome: Outcome, warnings: string[]) => void, stopped: () => boolean) {
  for (const [i, change] of changes.entries()) {
    if (stopped()) return;
    note(i, 'running', []);
    try {
      const { warnings } = await applyChange(change, {});
      note(i, 'done', warnings);
    } catch (error) {
      note(i, error instanceof Error ? error : new Error(String(error)), []);
    }
  }
}
