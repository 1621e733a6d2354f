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

/** Terms of other load balancers that lead to a page. */
export const termsOf = (word: string) => terms[word] ?? '';
