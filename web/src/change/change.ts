import { body, pathOf, request, type Answer } from '../api/client';

export type Query = { dry_run?: 'true'; confirm?: string; guard?: string };
type Preview = { params: { diff?: string; impact?: { cost: string; farm: string; fields: string[] | null }[] | null; warnings?: string[] | null } };

/** A change that can be preview before it is made. */
export type Change = {
  title: string;
  /** The equal command line, blank where there is none, and call of the API. */
  command: string;
  call: string;
  /** A backend that is taken out, as FARM/SERVICE/ID: it is rehearsed who takes over. */
  without?: string;
  /** What it changes, as lines of a difference, where the appliance tells none: it has revisions of the configuration alone. */
  says?: string;
  send: (query: Query) => Promise<Answer<unknown>>;
};

/** What a change would do: the difference it makes, and what it costs whom. */
export async function preview(change: Change) {
  const answer = (await body(change.send({ dry_run: 'true' }))) as Preview;
  return { diff: answer.params.diff ?? '', impact: answer.params.impact ?? [], warnings: answer.params.warnings ?? [] };
}

/** Until when a change is on trial: a time in which somebody confirms it, or conditions that must hold. */
export type Trial = { confirm?: string; guard?: string };

/** Makes the change; one on trial goes back by itself. It gives the revision that is the newest then. */
export async function applyChange(change: Change, trial: Trial): Promise<number> {
  let tag: string | null = null;
  await body(
    change.send(trial).then((answer) => {
      tag = answer.response.headers.get('ETag');
      return answer;
    }),
  );
  return Number(/^"(\d+)"$/.exec(tag ?? '')?.[1]);
}

export function call(method: string, parts: (string | number)[], sent?: object): string {
  const data = sent ? ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(sent))}` : '';
  return `curl -k -X ${method} -H "ZAPI_KEY: $KEY"${data} '${location.origin}/api/v4.0${pathOf(parts)}'`;
}

/** A change that is one call of the API. */
export function write(title: string, command: string, method: string, parts: (string | number)[], sent?: object): Change {
  return { title, command, call: call(method, parts, sent), send: (query) => request(method, parts, sent, query) };
}

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Settings as the command line takes them: NAME=VALUE, null for nothing, a list by repeating its name. */
export function settings(sent: Record<string, unknown>): string {
  return Object.entries(sent)
    .flatMap(([name, v]) => (Array.isArray(v) && v.length > 0 ? v : [Array.isArray(v) ? null : v]).map((one) => quoted(`${name}=${one === null ? 'null' : String(one)}`)))
    .join(' ');
}
