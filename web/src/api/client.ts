import createClient from 'openapi-fetch';
import type { paths } from './schema';

/** Why the appliance refused a call, in its own words. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly details?: string,
  ) {
    super(message);
  }
}

const client = createClient<paths>({ baseUrl: '/api/v4.0', credentials: 'same-origin' });

/** The appliance's API, typed by its OpenAPI document. */
export const api = client;

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The body of an answer; a refusal and an appliance out of reach are thrown. */
export async function body<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch {
    throw new Refused('unreachable', 0);
  }
  if (answer.data !== undefined && answer.response.ok) return answer.data;
  const said = (answer.error ?? {}) as { message?: string; details?: string };
  throw new Refused(said.message ?? answer.response.statusText, answer.response.status, said.details);
}

/** Whether a call failed because nobody is signed in. */
export function signedOut(error: unknown): boolean {
  return error instanceof Refused && error.status === 401;
}
