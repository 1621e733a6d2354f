import i18next from 'i18next';
import operations from './rights.json';

/** Rights of the signed-in user: the name, its permissions, and whether it sees all farms. */
export type Rights = { user: string; sections: Record<string, Record<string, string>>; allFarms: boolean };

let rights: Rights | undefined;

/** Sets the rights of the signed-in user; undefined until they are known. */
export const setRights = (to: Rights | undefined) => void (rights = to);

/** The user whom the pages of this tab showed last. */
export const userBefore = () => rights?.user;

/** Whether rights include a permission, as farm.modify, for all that it is needed for. */
export function includes({ user, sections, allFarms }: Rights, permission: string): boolean {
  if (user === 'root' || permission === 'open' || permission === 'public') return true;
  const [section, name] = permission.split('.');
  return sections[section]?.[name] === 'true' && (allFarms || !wholePermissions.includes(permission));
}

/** Permissions that count only for users who see all farms. */
const wholePermissions: string[] = operations.whole;

/** Read operations that not everybody may call: the parts of the path, '' for a placeholder, and who may. */
const reads = Object.entries(operations.reads).map(([path, may]) => ({
  template: path.slice(1).split('/').map((part) => (part.startsWith('{') ? '' : part)),
  permission: may.permission,
  allFarms: 'all_farms' in may,
}));

const parts = (path: string) => path.split('?')[0].split('/').filter(Boolean);

/** The read operation of a path. Of two that fit, the one with fewer placeholders. */
function readOf(path: string) {
  const asked = parts(path);
  const fit = reads.filter(({ template }) => template.length === asked.length && template.every((part, i) => part === '' || part === asked[i]));
  return fit.sort((a, b) => a.template.filter((part) => part === '').length - b.template.filter((part) => part === '').length)[0];
}

/**
 * The refusal of a GET that the user has no right to, as the appliance would give it; undefined
 * for every other call. Pages request what they could show; a call that is refused for
 * certain only fills the audit log.
 */
export function refusal(method: string, path: string): Response | undefined {
  if (method !== 'GET' || !rights) return undefined;
  const read = readOf(path);
  if (!read) return undefined;
  const refused = (message: string) => new Response(JSON.stringify({ message }), { status: 403, headers: { 'Content-Type': 'application/json' } });
  if (read.allFarms && !rights.allFarms) return refused(i18next.t('problem.all_farms'));
  if (!includes(rights, read.permission)) return refused(read.permission === 'root' ? i18next.t('problem.root') : i18next.t('problem.permission', { permission: read.permission }));
  return undefined;
}
