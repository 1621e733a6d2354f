import { body, pathOf, Refused, request, type Answer } from '../api/client';
import { writesOf, type Call } from '../api/rights';
import { noteWrite, tagOf } from '../api/tags';

export type Query = { dry_run?: 'true'; confirm?: string; guard?: string; force?: 'true' };
/** A warning and the field it is about. */
type WarningDetail = { field?: string; message: string };
type Preview = { params: { diff?: string; impact?: { cost: string; farm: string; fields: string[] | null }[] | null; warnings?: string[] | null; warning_details?: WarningDetail[] | null; needs_force?: 'true' } };

/** A change that can be previewed. */
export type Change = {
  title: string;
  /** The equivalent command line, blank if there is none, and API call. */
  command: string;
  call: string;
  /** A backend that is removed from service, as FARM/SERVICE/ID. The preview shows which backends take over. */
  without?: string;
  /** The lines of the difference, if the appliance returns none because the change is outside the configuration. */
  difference?: string;
  /** The change is outside the configuration: it has no revision and no trial, and the difference may be empty. */
  unversioned?: true;
  /** The call, to check the user's permission. */
  by: Call;
  /** The path of the resource that is written. The call must match the version on the page. */
  parts: (string | number)[];
  match?: string;
  /** The path contains a position. After a change by somebody else, another object may be at that position. */
  position?: true;
  send: (query: Query, match?: string) => Promise<Answer<unknown>>;
};

/** The effect of a change: its difference, its impact on traffic, and the ETag of the version that was tested. */
export async function preview(change: Change, match?: string, force = false) {
  const { answer, tag } = await tagged(change.send({ dry_run: 'true', ...forcing(force) }, match));
  const { params } = answer as Preview;
  return { diff: params.diff ?? '', impact: params.impact ?? [], warnings: params.warnings ?? [], details: params.warning_details ?? [], needsForce: params.needs_force === 'true', tag };
}

const forcing = (force: boolean): Query => (force ? { force: 'true' } : {});

/** Whether a change was refused but can be forced. */
export const isForceable = (error: unknown) => error instanceof Refused && error.code === 'force';

/** The change with its forced command line and API call. */
export const forced = (change: Change): Change => ({
  ...change,
  command: change.command && `${change.command} ${change.unversioned ? '--yes' : '--force'}`,
  call: change.call.replace(/'$/, `${/\?[^']*'$/.test(change.call) ? '&' : '?'}force=true'`),
});

/** Whether somebody else changed a resource after the version that a call had to match. */
export const isConflict = (error: unknown) => error instanceof Refused && error.status === 412;

/**
 * Tests a change on the version that the page shows. If somebody else changed that, it tests the current version. The
 * result has the ETag that the change itself has to match.
 */
export async function tryChange(change: Change, force = false) {
  try {
    const tried = await preview(change, change.match, force);
    return { ...tried, match: change.match ?? tried.tag, changed: false };
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  const tried = await preview(change, undefined, force);
  return { ...tried, match: tried.tag, changed: true };
}

/** The response to a call, and its ETag. */
async function tagged(call: Promise<Answer<unknown>>) {
  let tag: string | undefined;
  const answer = await body(
    call.then((a) => {
      tag = a.response.headers.get('ETag') ?? undefined;
      return a;
    }),
  );
  return { answer, tag };
}

/** The end of a trial: a time limit for confirmation, or conditions that must hold. */
export type Trial = { confirm?: string; guard?: string };

/** Makes the change; a trial is reverted automatically. Returns the latest revision and the warnings. */
export async function applyChange(change: Change, trial: Trial, match?: string, force = false): Promise<{ revision: number; warnings: string[] }> {
  const { answer, tag } = await tagged(
    change.send({ ...trial, ...forcing(force) }, match).then((answer) => {
      if (answer.response.ok) noteWrite(change.parts, answer.response);
      return answer;
    }),
  );
  return { revision: Number(/^"(\d+)"$/.exec(tag ?? '')?.[1]), warnings: warningsOf(answer) };
}

/** The warnings of a response: for an object a single text, for a transaction a list. */
function warningsOf(answer: unknown): string[] {
  const { warning, params } = (answer ?? {}) as { warning?: string; params?: { warnings?: string[] | null } };
  return [...(warning ? warning.split('; ') : []), ...(Array.isArray(params?.warnings) ? params.warnings : [])];
}

/** Warnings that were not in the preview, e.g. that a health check cannot run here. */
export const unforeseen = (warnings: string[], previewed: string[]) => warnings.filter((w) => !previewed.some((p) => p.includes(w)));

export function call(method: string, parts: (string | number)[], sent?: object): string {
  const data = sent ? ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(sent))}` : '';
  return `curl -k -X ${method} -H "ZAPI_KEY: $KEY"${data} '${location.origin}/api/v4.0${pathOf(parts)}'`;
}

/** A change by a single API call. */
export function write(title: string, command: string, method: string, parts: (string | number)[], sent?: object): Change {
  return { title, command, call: call(method, parts, sent), by: { method, path: pathOf(parts), writes: writesOf(sent) }, parts, match: tagOf(parts), send: (query, match) => request(method, parts, sent, query, match) };
}

/** The same change, passing each response to read. */
export function reading(change: Change, read: (answer: unknown, query: Query) => void): Change {
  const send: Change['send'] = async (query, match) => {
    const answer = await change.send(query, match);
    read(answer.data, query);
    return answer;
  };
  return { ...change, send };
}

/** The same change, passing each refusal to read. */
export function refusing(change: Change, read: (refusal: unknown) => void): Change {
  const send: Change['send'] = async (query, match) => {
    const answer = await change.send(query, match);
    if (!answer.response.ok) await body(Promise.resolve(answer)).catch(read);
    return answer;
  };
  return { ...change, send };
}

/** A word quoted for a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Settings as arguments of the command line: NAME=VALUE, null for an unset value, a repeated name for a list. */
export function settings(sent: Record<string, unknown>): string {
  return Object.entries(sent)
    .flatMap(([name, v]) => (Array.isArray(v) && v.length > 0 ? v : [Array.isArray(v) ? null : v]).map((one) => quoted(`${name}=${one === null ? 'null' : String(one)}`)))
    .join(' ');
}
