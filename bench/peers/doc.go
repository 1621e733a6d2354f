// Package peers knows how each contestant is configured, started and found
// ready: Sluice through its own command line and document, HAProxy and nginx
// as their manuals advise for one thread, any other proxy through a command.
//
// The configurations are the templates beside this file. In the plain variant,
// which is the default, HAProxy and nginx have no rules and add no headers
// unless the case is about rules: Sluice then does more work than they do, so
// the comparison is the harsher one. Work "equal" gives them one Host and URL
// rule and the forwarded headers too.
package peers
