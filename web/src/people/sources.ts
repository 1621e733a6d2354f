import { settings, type Change } from '../change/change';
import type { Seen } from '../form/values';
import { says, steps } from './steps';

/** Where it is set who may sign in: whose users, the directory, the provider of OpenID Connect. */
export const sources = ['services', 'ldap', 'oidc'] as const;
export type Source = (typeof sources)[number];

const commands = { services: 'services', ldap: 'ldap config', oidc: 'oidc config' };
/** What the command line asks for instead of taking it as a word. */
const secrets: Record<string, string> = { bind_password: '--bind-password', client_secret: '--client-secret' };

export function setSource(source: Source, before: Seen, sent: Seen, title: string): Change {
  const open = Object.fromEntries(Object.entries(sent).filter(([name]) => !secrets[name]));
  const command = [`sluice user ${commands[source]}`, settings(open), ...Object.keys(sent).map((name) => secrets[name])].filter(Boolean).join(' ');
  return steps(title, [{ command, method: 'PUT', parts: ['rbac', source], sent }], says(before, sent));
}
