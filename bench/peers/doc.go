// Package peers configures and starts contestants and waits until they are ready. Sluice
// uses its own command line and document. HAProxy and nginx are configured as their
// manuals recommend for one thread, other proxies by a command.
//
// The configurations are the templates in this folder. In the plain variant, the default,
// HAProxy and nginx have rules and additional headers only in cases about rules. Sluice
// then does more work than they do, so the comparison is conservative. Work "equal" also
// gives them one Host and URL rule and the forwarded headers.
package peers
