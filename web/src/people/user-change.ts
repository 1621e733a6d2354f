import type { Settings } from '../api/fields';
import { quoted, settings, type Change } from '../change/change';
import type { User } from './queries';
import { masked, diffLines, steps, type Step } from './steps';

const join = (group: string, name: string): Step => ({ command: `sluice group add ${quoted(group)} ${quoted(name)}`, method: 'POST', parts: ['rbac', 'groups', group, 'users'], sent: { name } });
const leave = (group: string, name: string): Step => ({ command: `sluice group remove ${quoted(group)} ${quoted(name)}`, method: 'DELETE', parts: ['rbac', 'groups', group, 'users', name] });

/** The settings of a user apart from its password and group. */
function set(name: string, sent: Settings): Step[] {
  if (Object.keys(sent).length === 0) return [];
  const { newpassword, ...rest } = sent;
  const commands = [...(newpassword === undefined ? [] : [`sluice user password ${quoted(name)}`]), ...(Object.keys(rest).length > 0 ? [`sluice user set ${quoted(name)} ${settings(masked(rest))}`] : [])];
  return [{ command: commands.join('\n'), method: 'PUT', parts: ['rbac', 'users', name], sent }];
}

/** Creates a user with its permissions to sign in and its group, as given. */
export function createUser(body: Settings, title: string): Change {
  const { group, webgui_permissions: web, ...rest } = body;
  const name = String(rest.name ?? '');
  const sent = group ? { ...rest, group } : rest;
  const flags = (sent.service === 'ldap' || sent.service === 'oidc' ? ` --${sent.service}` : '') + (group ? ` --group ${quoted(String(group))}` : '');
  const make: Step = { command: `sluice user create ${quoted(name)}${flags}`, method: 'POST', parts: ['rbac', 'users'], sent };
  return steps(title, [make, ...(web === 'true' ? set(name, { webgui_permissions: web }) : [])], diffLines({}, body));
}

/** Changes the settings and the group of a user. */
export function setUser(user: User, body: Settings, title: string): Change {
  const { group, ...sent } = body;
  const moves = group === undefined ? [] : [...(user.group ? [leave(user.group, user.name)] : []), ...(group ? [join(String(group), user.name)] : [])];
  return steps(title, [...set(user.name, sent), ...moves], diffLines({ ...user }, body));
}
