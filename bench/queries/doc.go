// Package queries measures what a query of the DNS costs the server: Sluice with one loop,
// knot with one worker and gdnsd with one thread, asked by dnsperf from another processor,
// in turns. It has tests only, which take root and a network namespace and run when
// SLUICE_BENCH is set, as `make bench` does.
//
// The zone has 1,000 names with an address each. It is asked as it is; signed, with every
// signature made before; and with a service behind each name that chooses by weight among
// two backends that work, for a client net that comes with the query.
//
// A zone of a million records is another test: how soon a server that starts answers for it.
package queries
