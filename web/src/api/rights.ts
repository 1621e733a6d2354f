import i18next from 'i18next';
import known from './rights.json';

/** Rights of the signed-in user: the name, the permissions, and whether the user sees all farms. */
export type Rights = { user: string; sections: Record<string, Record<string, string>>; allFarms: boolean };

let rights: Rights | undefined;

/** Sets the rights of the signed-in user; undefined until they are known. */
export const setRights = (to: Rights | undefined) => void (rights = to);

/** The user whose pages this tab showed last. */
export const userBefore = () => rights?.user;

/** Whether rights include a permission, e.g. farm.modify, with everything that it depends on. */
export function includes({ user, sections, allFarms }: Rights, permission: string): boolean {
  if (user === 'root' || permission === 'open' || permission === 'public') return true;
  const [section, name] = permission.split('.');
  return sections[section]?.[name] === 'true' && (allFarms || !wholePermissions.includes(permission));
}

/** Permissions that are effective only for users who see all farms. */
const wholePermissions: string[] = known.whole;

/** Restricted operations: the method, the parts of the path ('' is a placeholder), and the permission. */
const operations = Object.entries(known.operations).map(([name, may]) => {
  const [method, path] = name.split(' ');
  return { method, template: path.slice(1).split('/').map((part) => (part.startsWith('{') ? '' : part)), permission: may.permission, allFarms: 'all_farms' in may };
});

const parts = (path: string) => path.split('?')[0].split('/').filter(Boolean);

/** The restricted operation of a path. If two match, it is the one with fewer placeholders. */
function operationOf(method: string, path: string) {
  const asked = parts(path);
  const fit = operations.filter((o) => o.method === method && o.template.length === asked.length && o.template.every((part, i) => part === '' || part === asked[i]));
  return fit.sort((a, b) => a.template.filter((part) => part === '').length - b.template.filter((part) => part === '').length)[0];
}

/** A call of the API. A transaction has writes, and the user needs the permission for each of them. */
export type Call = { method: string; path: string; writes?: { method: string; path: string }[] };

/** The reason why the user may not make a call; undefined if no restriction is known. */
export function reasonAgainst(rights: Rights, { method, path, writes = [] }: Call): string | undefined {
  for (const write of writes) {
    const reason = reasonAgainst(rights, write);
    if (reason !== undefined) return reason;
  }
  const operation = operationOf(method, path);
  if (!operation) return undefined;
  if (operation.allFarms && !rights.allFarms) return i18next.t('problem.all_farms');
  if (method === 'GET' && operation.permission === 'root' && rights.user !== 'root') return i18next.t('problem.root');
  return lacking(rights, operation.permission);
}

/** The reason why the user lacks a permission, e.g. farm.modify; undefined if the user has it. */
export function lacking(rights: Rights, permission: string): string | undefined {
  if (includes(rights, permission)) return undefined;
  if (permission === 'root') return i18next.t('problem.root_only');
  return wholePermissions.includes(permission) && !rights.allFarms ? i18next.t('problem.all_farms') : i18next.t('problem.permission', { permission });
}

/**
 * The refusal that the appliance would return for a call without permission; undefined for all other calls. Pages
 * request everything that they could show and test everything that they could change. Sending calls that are certain to
 * be refused would only fill the audit log.
 */
export function refusal(call: Call): Response | undefined {
  const message = rights && reasonAgainst(rights, call);
  return message === undefined ? undefined : new Response(JSON.stringify({ message }), { status: 403, headers: { 'Content-Type': 'application/json' } });
}

/** The writes in the body of a transaction. */
export function writesOf(body: unknown): Call['writes'] {
  const writes = (body as { writes?: unknown } | undefined)?.writes;
  return Array.isArray(writes) ? (writes as Call['writes']) : undefined;
}
