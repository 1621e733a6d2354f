import { body } from '../api/client';

export type Query = { dry_run?: 'true'; confirm?: string };
type Preview = { params: { diff?: string; impact?: { cost: string; farm: string; fields: string[] | null }[] | null; warnings?: string[] | null } };

/** A change that can be preview before it is made. */
export type Change = {
  title: string;
  /** The equal command line, and call of the API. */
  command: string;
  call: string;
  /** A backend that is taken out, as FARM/SERVICE/ID: it is rehearsed who takes over. */
  without?: string;
  send: (query: Query) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
};

/** What a change would do: the difference it makes, and what it costs whom. */
export async function preview(change: Change) {
  const answer = (await body(change.send({ dry_run: 'true' }))) as Preview;
  return { diff: answer.params.diff ?? '', impact: answer.params.impact ?? [], warnings: answer.params.warnings ?? [] };
}

/** Makes the change; with a time it goes back by itself unless it is confirmed. */
export function applyChange(change: Change, confirm: string | null) {
  return body(change.send(confirm ? { confirm } : {}));
}

const path = (...parts: (string | number)[]) => `/${parts.map((p) => encodeURIComponent(p)).join('/')}`;

export function call(method: string, parts: (string | number)[], sent: object): string {
  return `curl -k -X ${method} -H "ZAPI_KEY: $KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(sent)}' '${location.origin}/api/v4.0${path(...parts)}'`;
}
