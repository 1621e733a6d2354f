// Package queries measures the cost of a DNS query for the server. It compares Sluice
// with one loop, knot with one worker and gdnsd with one thread, queried in turn by
// dnsperf from another CPU. It contains only tests. They need root and a network
// namespace and run if SLUICE_BENCH is set, e.g. by `make bench`.
//
// The zone has 1,000 names with one address each. It is queried unsigned, signed with
// cached signatures, and with a service behind each name. The service chooses by weight
// between two healthy backends for the client subnet in the query.
//
// Another test measures the start of a server with a zone of a million records.
package queries
