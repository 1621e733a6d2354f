const channel = 'confirmed-session';

/** The page that the provider returns to, in a tab of its own: the tabs with the user's input stay as they are. */
export const confirmedPage = '/gui/?confirmed';

/** Tells the other tabs that the provider confirmed the session. Returns whether this tab was opened for that. */
export function tellConfirmed(at: Location): boolean {
  if (at.pathname + at.search !== confirmedPage) return false;
  const other = new BroadcastChannel(channel);
  other.postMessage('');
  other.close();
  return true;
}

/** Calls done when another tab tells that the session is confirmed. */
export function onConfirmed(done: () => void) {
  const other = new BroadcastChannel(channel);
  other.onmessage = done;
  return () => other.close();
}
