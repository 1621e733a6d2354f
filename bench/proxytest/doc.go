// Package proxytest helps tests that measure proxies in network namespaces: the
// namespaces, Sluice, HAProxy and nginx in one, the test program as load or backend in
// others, and the order of turns.
package proxytest
