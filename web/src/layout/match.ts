import type { Findable } from './findable';

/** Terms of HAProxy, nginx, Envoy and the Zevenet family, by the word of the page that has the equivalent. */
const terms: { [word: string]: string } = {
  'nav.farms':
    'frontend listen bind virtual_server vserver virtualserver vip port upstream backend server pool cluster node member location proxy_pass server_name vhost acl use_backend default_backend route router balance algorithm least_conn leastconn ip_hash persistence sticky stick-table cookie weight priority backup maxconn max_conns connection_limit mode profile timeout timeout_connect timeout_client timeout_server keepalive redirect rewrite header http-request http-response proxy_set_header add_header errorfile error_page gzip compression limit_req ratelimit retries slowstart send-proxy zone record dns',
  'palette.new_farm': 'frontend listen bind virtual_server vserver virtualserver listener entrypoint',
  'nav.checks': 'httpchk option_httpchk tcp-check health_check healthcheck monitor farmguardian inter interval rise fall fastinter max_fails fail_timeout agent-check',
  'nav.certificates': 'ssl_certificate ssl_certificate_key crt cert pem tls ca-file acme letsencrypt',
  'nav.findings': 'lint warning',
  'headroom.title': 'capacity maxconn',
  'nav.timeline': 'events log',
  'nav.history': 'revision rollback diff',
  'nav.people': 'user group role userlist password rbac',
  'nav.notifications': 'mailers email-alert mail webhook alert',
  'nav.audit': 'log',
  'nav.system': 'global resolvers nameserver dns ntp syslog snmp license backup',
  'nav.dashboard': 'stats status',
  'nav.apidocs': 'openapi rest swagger',
};

/** The largest number of wrong letters in a word, by its length. */
const typos = (word: string) => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2);

/** Terms of other load balancers that lead to a page. */
export const termsOf = (word: string) => terms[word] ?? '';

/** The entries that have the wanted letters; else those by a term of another load balancer; else those with a typo. */
export function match(all: Findable[], wanted: string): Findable[] {
  const text = wanted.trim().toLowerCase();
  const named = all.filter((a) => `${a.label} ${a.hint}`.toLowerCase().includes(text));
  if (text === '') return named;
  const spelled = text.replaceAll(/[\s_-]+/g, '_');
  const meant = all.filter((a) => !named.includes(a) && a.terms !== undefined && ` ${a.terms} `.replaceAll('-', '_').includes(` ${spelled} `));
  if (named.length + meant.length > 0) return [...named, ...meant];
  return all.filter((a) => `${a.label} ${a.terms ?? ''}`.toLowerCase().split(' ').some((w) => distance(w.replaceAll('-', '_'), spelled) <= typos(spelled)));
}

/** The number of letters to insert, delete or replace. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length] ?? 0;
}
