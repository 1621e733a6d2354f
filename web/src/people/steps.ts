import { pathOf, request } from '../api/client';
import type { Settings } from '../api/fields';
import { tagOf } from '../api/tags';
import { call, type Change } from '../change/change';
import { isSecret } from '../form/schema';

/** One call of a change, and the equivalent command line. */
export type Step = { command: string; method: string; parts: (string | number)[]; sent?: Settings };

/** The sent values with secrets masked. */
export function masked(sent: Settings): Settings {
  return Object.fromEntries(Object.entries(sent).map(([name, v]) => [name, v && isSecret(name) ? '***' : v]));
}

const callOf = ({ method, parts }: Step) => ({ method, path: pathOf(parts) });

const line = (sign: string, name: string, v: unknown) => `${sign} ${name}: ${Array.isArray(v) ? `[${v.join(', ')}]` : String(v)}`;
const blank = (v: unknown) => v === undefined || v === null || v === '' || (Array.isArray(v) && v.length === 0);

/** The changed fields as lines of a difference: - old, + new. */
export function diffLines(before: Settings, sent: Settings): string {
  const was = masked(before);
  return Object.entries(masked(sent))
    .flatMap(([name, v]) => [...(blank(was[name]) ? [] : [line('-', name, was[name])]), ...(blank(v) ? [] : [line('+', name, v)])])
    .join('\n');
}

/**
 * A change that takes several calls in sequence. Only the first one is tested beforehand, because the others may depend
 * on its result. A refusal ends the sequence.
 */
export function steps(title: string, all: Step[], difference: string): Change {
  return {
    title,
    difference,
    by: { ...callOf(all[0]), writes: all.slice(1).map(callOf) },
    parts: all[0].parts,
    match: tagOf(all[0].parts),
    command: all.map((s) => s.command).join('\n'),
    call: all.map((s) => call(s.method, s.parts, s.sent && masked(s.sent))).join('\n'),
    send: async (query, match) => {
      const [first, ...rest] = all;
      let answer = await request(first.method, first.parts, first.sent, query, match);
      if (query.dry_run) return answer;
      for (const s of rest) {
        if (!answer.response.ok) return answer;
        answer = await request(s.method, s.parts, s.sent, query);
      }
      return answer;
    },
  };
}

/** Deletes the object at a path. */
export const removal = (title: string, command: string, parts: (string | number)[], what: string) => steps(title, [{ command, method: 'DELETE', parts }], `- ${what}`);
