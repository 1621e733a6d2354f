import type { Settings } from '../api/fields';
import { settings, type Change } from '../change/change';
import { diffLines, steps } from './steps';

/** The settings of sign-in: services in use, LDAP directory, OpenID Connect provider. */
export const sources = ['services', 'ldap', 'oidc'] as const;
export type Source = (typeof sources)[number];

const commands = { services: 'services', ldap: 'ldap config', oidc: 'oidc config' };
/** Secrets that the command line prompts for instead of taking them as arguments. */
const secrets: Record<string, string> = { bind_password: '--bind-password', client_secret: '--client-secret' };

export function setSource(source: Source, before: Settings, sent: Settings, title: string): Change {
  const open = Object.fromEntries(Object.entries(sent).filter(([name]) => !secrets[name]));
  const command = [`sluice user ${commands[source]}`, settings(open), ...Object.keys(sent).map((name) => secrets[name])].filter(Boolean).join(' ');
  return steps(title, [{ command, method: 'PUT', parts: ['rbac', source], sent }], diffLines(before, sent));
}
