// Package proxytest is what tests of the bench stand on that measure proxies in
// network namespaces: the namespaces, Sluice, HAProxy and nginx in one, the test
// program itself as a load or a backend in others, and the turns they take.
package proxytest
