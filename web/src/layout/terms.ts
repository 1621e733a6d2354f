import foreign from './foreign.json';

/**
 * More words that lead to a page, by the key of its title: Sluice's own names and those that only the GUI knows. The
 * terms of HAProxy, nginx, Envoy and others are in foreign.json, which a test of mgmt/validate/suggest derives from the
 * terms that the CLI explains.
 */
const own: { [key: string]: string } = {
  'nav.farms': 'vip backend vhost router persistence weight priority connection_limit profile timeout redirect compression ratelimit retries slowstart record',
  'palette.new_farm': 'listener',
  'nav.checks': 'farmguardian interval',
  'nav.certificates': 'pem tls ca_file',
  'nav.findings': 'lint warning',
  'headroom.title': 'capacity maxconn',
  'nav.timeline': 'events log',
  'nav.history': 'revision rollback diff',
  'nav.people': 'group role userlist password rbac',
  'nav.notifications': 'mail webhook alert',
  'nav.audit': 'log',
  'nav.system': 'nameserver ntp snmp license backup',
  'nav.dashboard': 'status',
  'nav.apidocs': 'openapi rest swagger',
};

const terms = new Map(Object.entries(foreign));

/** The terms that lead to a page, by the key of its title, separated by blanks. */
export const termsOf = (key: string) => [terms.get(key), own[key]].filter(Boolean).join(' ');
