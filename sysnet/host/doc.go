// Package host makes this machine fit for farms the kernel carries, beside the
// packet filter: packets are passed on (sysctl), firewalls of others let them
// through (firewall), neighbours know where addresses are (announce), and what
// is tracked of connections to backends that are gone is deleted (conntrack).
//
// # The way through it
//
// A Host is told what is needed now (Prepare), which is everything there is to
// know: what was needed before and is not any more is taken back. Run does the
// same again from time to time, because others change what is theirs. Parts
// answers mgmt: connections are listed and flushed, everything that was set is
// listed, and all of it removed by a clean.
//
// # After a crash
//
// Old values of sysctls are in a journal, our rules in foreign tables have a
// tag, entries of connections a mark: the first Prepare of a new process finds
// and removes what nobody needs.
package host
