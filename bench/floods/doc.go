// Package floods measures the effect of HTTP/2 stream floods on other clients of a proxy.
// Eight connections to one service open streams that end at once: by RST_STREAM (rapid
// reset, CVE-2023-44487), or by frames that make the proxy reset them (MadeYouReset,
// CVE-2025-8671). Sluice, HAProxy and nginx run in turn, with their default configuration
// and on all CPUs. A closed connection is reopened at once from the same address. The
// package contains only tests. They need root and a network namespace and run if
// SLUICE_BENCH is set, e.g. by `make bench`.
//
// The first figure is the latency of requests to another service over kept HTTP/1.1
// connections, counted from the due time. The second is the ratio of the CPU time of the
// proxy to that of the attackers. The attackers share the CPUs with the proxy: a proxy
// that rejects quickly is attacked more often, so this is the fair comparison.
package floods
