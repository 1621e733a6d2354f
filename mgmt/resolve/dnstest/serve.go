// Package dnstest is a name server for tests, which supply its answers.
package dnstest

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/porttest"
)

// Serve answers queries over "udp" and "tcp" with a function until the test ends. It
// returns the address, which is the same for both.
func Serve(t testing.TB, answer func(network string, w dns.ResponseWriter, q *dns.Msg)) (addr string) {
	t.Helper()
	tcp, udp := porttest.ListenBoth(t)
	for network, server := range map[string]*dns.Server{"tcp": {Listener: tcp}, "udp": {PacketConn: udp}} {
		started := make(chan struct{})
		server.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) { answer(network, w, q) })
		server.NotifyStartedFunc = func() { close(started) }
		go func() { _ = server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = server.Shutdown() })
	}
	return tcp.Addr().String()
}
