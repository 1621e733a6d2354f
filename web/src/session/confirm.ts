type Waiting = (confirmed: boolean) => void;

let waiting: Waiting[] = [];
const readers = new Set<() => void>();

/** Whether calls wait for the confirmation of the password. */
export const isWaiting = () => waiting.length > 0;

export function onWaiting(read: () => void) {
  readers.add(read);
  return () => void readers.delete(read);
}

/** Ends the wait: the calls are repeated, or stay refused. */
export function settle(confirmed: boolean) {
  const all = waiting;
  waiting = [];
  readers.forEach((read) => read());
  all.forEach((end) => end(confirmed));
}

function confirmed(): Promise<boolean> {
  return new Promise((end) => {
    waiting = [...waiting, end];
    readers.forEach((read) => read());
  });
}

/** Sends a call. If the session must be confirmed first, it asks for the password and sends the call again. */
export async function confirming(send: () => Promise<Response>): Promise<Response> {
  const response = await send();
  if (response.status !== 403) return response;
  const said = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: string };
  return said.code === 'confirm_session' && (await confirmed()) ? send() : response;
}

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
