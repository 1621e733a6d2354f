import createClient from 'openapi-fetch';
import { confirming } from './confirm';
import { pathOf } from './path';
import { refusal, writesOf } from './rights';
import type { paths } from './schema';
import { noteTag } from './tags';

/** The reason why the appliance refused a call, in its own words. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly details?: string,
    /** The invalid field of the body; in a transaction, its write. */
    readonly field?: string,
    readonly write?: number,
    /** The code of ErrorBody, which suggests a remedy. */
    readonly code?: string,
  ) {
    super(message);
  }
}

export type Answer<T> = { data?: T; error?: unknown; response: Response };

const base = '/api/v4.0';

/** The appliance's API, typed by its OpenAPI document. */
export const api = createClient<paths>({ baseUrl: base, credentials: 'same-origin', fetch: async (sent: Request) => refusal({ method: sent.method, path: new URL(sent.url).pathname.slice(base.length) }) ?? confirming(() => fetch(sent.clone())) });
api.use({
  onResponse: ({ request: { method, url }, response }) => {
    if (method === 'GET') noteTag(new URL(url).pathname.slice(base.length), response);
  },
});

export { pathOf };

/** Makes a call that is known only at run time, e.g. from a form built from the schema. */
export async function request(method: string, parts: (string | number)[], sent?: unknown, query: Record<string, string> = {}, match?: string): Promise<Answer<unknown>> {
  const ask = () =>
    fetch(`${base}${pathOf(parts)}?${new URLSearchParams(query)}`, {
      method,
      credentials: 'same-origin',
      headers: { ...(sent === undefined ? {} : { 'Content-Type': 'application/json' }), ...(match ? { 'If-Match': match } : {}) },
      body: sent === undefined ? undefined : JSON.stringify(sent),
    });
  const response = refusal({ method, path: pathOf(parts), writes: writesOf(sent) }) ?? (await confirming(ask));
  if (method === 'GET') noteTag(pathOf(parts), response);
  const answer: unknown = await response.json().catch(() => ({}));
  return response.ok ? { data: answer, response } : { error: answer, response };
}

/** Returns the body of a response. Throws on a refusal or if the appliance is unreachable. */
export async function body<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch {
    throw new Refused('unreachable', 0);
  }
  if (answer.data !== undefined && answer.response.ok) return answer.data;
  const said = (answer.error ?? {}) as { message?: string; details?: string; field?: string; write?: number; code?: string };
  throw new Refused(said.message ?? answer.response.statusText, answer.response.status, said.details, said.field, said.write, said.code);
}

/** Whether a call failed because the user is signed out. */
export function signedOut(error: unknown): boolean {
  return error instanceof Refused && error.status === 401;
}
