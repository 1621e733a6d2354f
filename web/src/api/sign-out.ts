import { api, body, signedOut } from './client';

const kept = 'sluice.leaving';

/** The time limit of a sign-out, in milliseconds. A lost network may never answer. */
const limit = 10_000;

/** Whether the user asked to sign out and the session may still be open. All tabs know it, even after a reload. */
export const isSigningOut = () => localStorage.getItem(kept) !== null;

/** Records that the user asked to sign out. */
export const requestSignOut = () => localStorage.setItem(kept, '1');

/** Forgets that the user asked to sign out. */
export const cancelSignOut = () => localStorage.removeItem(kept);

/** Ends the session if the user asked to sign out. Throws while the session may still be open. */
export async function finishSignOut() {
  if (!isSigningOut()) return;
  try {
    await body(api.DELETE('/session', { signal: AbortSignal.timeout(limit) }));
  } catch (error) {
    if (!signedOut(error)) throw error;
  }
  cancelSignOut();
}
