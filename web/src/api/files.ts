import { body, pathOf, Refused, request, type Answer } from './client';
import { refusal } from './rights';

/** The link to a file of the appliance. The browser sends its cookie and saves the file. */
export const fileAt = (...parts: (string | number)[]) => `/api/v4.0${pathOf(parts)}`;

/** Sends a file unchanged. */
export async function upload(method: 'POST' | 'PUT', parts: string[], file: Blob | string, type: string, query: Record<string, string> = {}, match?: string): Promise<Answer<unknown>> {
  const response = refusal({ method, path: pathOf(parts) }) ?? (await fetch(`${fileAt(...parts)}?${new URLSearchParams(query)}`, { method, credentials: 'same-origin', headers: { 'Content-Type': type, ...(match ? { 'If-Match': match } : {}) }, body: file }));
  const answer: unknown = await response.json().catch(() => ({}));
  return response.ok ? { data: answer, response } : { error: answer, response };
}

/** The response to an upload: the result and its warnings. */
export type Uploaded = { message?: string; warning?: string; params?: { file?: string; fingerprint?: string; previous?: { fingerprint: string } | null } };

export const uploaded = async (call: Promise<Answer<unknown>>) => (await body(call)) as Uploaded;

/** Fetches a text file of the appliance. */
export async function text(...parts: string[]): Promise<string> {
  const response = refusal({ method: 'GET', path: pathOf(parts) }) ?? (await fetch(fileAt(...parts), { credentials: 'same-origin' }).catch(() => undefined));
  if (!response) throw new Refused('unreachable', 0);
  if (response.ok) return response.text();
  const said = (await response.json().catch(() => ({}))) as { message?: string };
  throw new Refused(said.message ?? response.statusText, response.status);
}

/** Fetches the list at a path. */
export async function list<T>(...parts: string[]): Promise<T[]> {
  return ((await body(request('GET', parts))) as { params: T[] | null }).params ?? [];
}

/** Fetches the object at a path. */
export async function object<T>(...parts: string[]): Promise<T> {
  return ((await body(request('GET', parts))) as { params: T }).params;
}
