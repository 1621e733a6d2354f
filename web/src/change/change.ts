import { body, pathOf, Refused, request, type Answer } from '../api/client';
import { writesOf, type Call } from '../api/rights';
import { noteWrite, tagOf } from '../api/tags';

export type Query = { dry_run?: 'true'; confirm?: string; guard?: string; force?: 'true' };
/** A warning, and the field it is about. */
type WarningDetail = { field?: string; message: string };
type Preview = { params: { diff?: string; impact?: { cost: string; farm: string; fields: string[] | null }[] | null; warnings?: string[] | null; warning_details?: WarningDetail[] | null; needs_force?: 'true' } };

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
  /** It is kept beside the configuration: it has no revision, is not on trial, and may change nothing that the difference shows. */
  beside?: true;
  /** The call it makes, for the question whether the user may. */
  by: Call;
  /** The resource that is written, of which the page shows the version match. */
  parts: (string | number)[];
  match?: string;
  /** The path names a position, at which there may be another object after somebody else's change. */
  position?: true;
  send: (query: Query, match?: string) => Promise<Answer<unknown>>;
};

/** What a change would do: the difference it makes, what it costs whom, and the ETag of what it was tried on. */
export async function preview(change: Change, match?: string, force = false) {
  const { answer, tag } = await tagged(change.send({ dry_run: 'true', ...forcing(force) }, match));
  const { params } = answer as Preview;
  return { diff: params.diff ?? '', impact: params.impact ?? [], warnings: params.warnings ?? [], details: params.warning_details ?? [], needsForce: params.needs_force === 'true', tag };
}

const forcing = (force: boolean): Query => (force ? { force: 'true' } : {});

/** Whether a change was refused that the appliance makes if it is forced. */
export const isForceable = (error: unknown) => error instanceof Refused && error.code === 'force';

/** The change as it is forced by the command line and by a call. */
export const forced = (change: Change): Change => ({
  ...change,
  command: change.command && `${change.command} ${change.beside ? '--yes' : '--force'}`,
  call: change.call.replace(/'$/, `${/\?[^']*'$/.test(change.call) ? '&' : '?'}force=true'`),
});

/** Whether somebody else changed a resource after the version that a call had to match. */
export const isConflict = (error: unknown) => error instanceof Refused && error.status === 412;

/**
 * Tries a change on the version that the page shows or, if somebody else changed that, on
 * the one there is now. The answer has the ETag that the change itself has to match.
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

/** The answer of a call, and its ETag. */
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

/** Until when a change is on trial: a time in which somebody confirms it, or conditions that must hold. */
export type Trial = { confirm?: string; guard?: string };

/** Makes the change; one on trial goes back by itself. It gives the revision that is the newest then, and the warnings that came with it. */
export async function applyChange(change: Change, trial: Trial, match?: string, force = false): Promise<{ revision: number; warnings: string[] }> {
  const { answer, tag } = await tagged(
    change.send({ ...trial, ...forcing(force) }, match).then((answer) => {
      if (answer.response.ok) noteWrite(change.parts, answer.response);
      return answer;
    }),
  );
  return { revision: Number(/^"(\d+)"$/.exec(tag ?? '')?.[1]), warnings: warningsOf(answer) };
}

/** The warnings of an answer: that of an object has them in one text, that of a transaction as a list. */
function warningsOf(answer: unknown): string[] {
  const { warning, params } = (answer ?? {}) as { warning?: string; params?: { warnings?: string[] | null } };
  return [...(warning ? warning.split('; ') : []), ...(Array.isArray(params?.warnings) ? params.warnings : [])];
}

/** Warnings that the preview could not know, e.g. that a health check cannot run here. */
export const unforeseen = (warnings: string[], previewed: string[]) => warnings.filter((w) => !previewed.some((p) => p.includes(w)));

export function call(method: string, parts: (string | number)[], sent?: object): string {
  const data = sent ? ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(sent))}` : '';
  return `curl -k -X ${method} -H "ZAPI_KEY: $KEY"${data} '${location.origin}/api/v4.0${pathOf(parts)}'`;
}

/** A change that is one call of the API. */
export function write(title: string, command: string, method: string, parts: (string | number)[], sent?: object): Change {
  return { title, command, call: call(method, parts, sent), by: { method, path: pathOf(parts), writes: writesOf(sent) }, parts, match: tagOf(parts), send: (query, match) => request(method, parts, sent, query, match) };
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
