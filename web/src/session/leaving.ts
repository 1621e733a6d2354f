import { api, body, signedOut } from '../api/client';

const kept = 'sluice.leaving';

/** The time limit of a sign-out, in milliseconds. A lost network may never answer. */
const limit = 10_000;

/** Whether the user wants to sign out, and the appliance has not ended the session yet. All tabs know it, also after a reload. */
export const isLeaving = () => localStorage.getItem(kept) !== null;

/** Records that the user wants to sign out. */
export const wantLeave = () => localStorage.setItem(kept, '1');

/** Forgets that the user wanted to sign out. */
export const stay = () => localStorage.removeItem(kept);

/** Ends the session if the user wants to sign out. It throws while the session may still be open. */
export async function finishLeaving() {
  if (!isLeaving()) return;
  try {
    await body(api.DELETE('/session', { signal: AbortSignal.timeout(limit) }));
  } catch (error) {
    if (!signedOut(error)) throw error;
  }
  stay();
}
