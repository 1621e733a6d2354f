import { body, pathOf, Refused, request, type Answer } from './client';
import { refusal } from './rights';

/** Where a file of the appliance is had by a link: the browser sends its cookie and keeps what comes. */
export const fileAt = (...parts: (string | number)[]) => `/api/v4.0${pathOf(parts)}`;

/** Sends a file as it is. */
export async function upload(method: 'POST' | 'PUT', parts: string[], file: Blob | string, type: string, query: Record<string, string> = {}, match?: string): Promise<Answer<unknown>> {
  const response = refusal({ method, path: pathOf(parts) }) ?? (await fetch(`${fileAt(...parts)}?${new URLSearchParams(query)}`, { method, credentials: 'same-origin', headers: { 'Content-Type': type, ...(match ? { 'If-Match': match } : {}) }, body: file }));
  const answer: unknown = await response.json().catch(() => ({}));
  return response.ok ? { data: answer, response } : { error: answer, response };
}

/** What an upload was answered: what was done, and what should be known of it. */
export type Uploaded = { message?: string; warning?: string; params?: { file?: string; previous?: unknown } };

export const uploaded = async (call: Promise<Answer<unknown>>) => (await body(call)) as Uploaded;

/** A text file of the appliance. */
export async function text(...parts: string[]): Promise<string> {
  const response = refusal({ method: 'GET', path: pathOf(parts) }) ?? (await fetch(fileAt(...parts), { credentials: 'same-origin' }).catch(() => undefined));
  if (!response) throw new Refused('unreachable', 0);
  if (response.ok) return response.text();
  const said = (await response.json().catch(() => ({}))) as { message?: string };
  throw new Refused(said.message ?? response.statusText, response.status);
}

/** The list at a path. */
export async function list<T>(...parts: string[]): Promise<T[]> {
  return ((await body(request('GET', parts))) as { params: T[] | null }).params ?? [];
}

/** The object at a path. */
export async function object<T>(...parts: string[]): Promise<T> {
  return ((await body(request('GET', parts))) as { params: T }).params;
}
