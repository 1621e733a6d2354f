import { pathOf } from './path';

/** ETags of the displayed resources, by path below the API's base. */
const shown = new Map<string, string>();

type Parts = (string | number)[];

/** Stores the ETag of a resource that was read. */
export function noteTag(path: string, response: Response) {
  const tag = response.headers.get('ETag');
  if (response.ok && tag) shown.set(path, tag);
}

/** The ETag for a write to a path: that of the resource itself, or else of the nearest displayed parent. */
export function tagOf(parts: Parts): string | undefined {
  for (let n = parts.length; n > 0; n--) {
    const tag = shown.get(pathOf(parts.slice(0, n)));
    if (tag) return tag;
  }
  return undefined;
}

/**
 * Updates the tags after a write by this user: the farm has the ETag from the response. Tags of other resources are
 * removed until they are read again.
 */
export function noteWrite(parts: Parts, response: Response) {
  const revision = /^"(\d+)"$/.exec(response.headers.get('ETag') ?? '')?.[1];
  const owner = pathOf(parts.slice(0, parts[0] === 'farms' ? 2 : 1));
  for (const path of [...shown.keys()]) {
    if (path !== owner && !path.startsWith(`${owner}/`)) continue;
    if (parts[0] === 'farms' && parts.length > 1 && revision) shown.set(path, `"${revision}.0"`);
    else shown.delete(path);
  }
}

/** Removes all tags when another user signs in. */
export const forgetTags = () => shown.clear();
