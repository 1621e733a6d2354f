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
