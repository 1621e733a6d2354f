// Package floods measures what clients of one service of a proxy notice while
// eight connections to another one open streams of HTTP/2 and have them end at
// once: by RST_STREAM (rapid reset, CVE-2023-44487), or by frames that make the
// proxy reset them (MadeYouReset, CVE-2025-8671). Sluice, HAProxy and nginx have
// their default configuration, all processors and turns one after the other; a
// connection that is ended is opened again at once, from the same address. It has
// tests only, which take root and a network namespace and run when SLUICE_BENCH is
// set, as `make bench` does.
//
// What counts is how long requests of a client with kept connections of HTTP/1.1
// take, from the moment at which each was due, and the processor time of the proxy
// for that of the attackers. They share the processors with it, as nothing else
// would be fair to all: who refuses quickly is attacked more often.
package floods
