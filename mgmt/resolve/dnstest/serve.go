// Package dnstest is a name server for tests, which supply its answers.
package dnstest

import (
	"net"
	"testing"

	"github.com/miekg/dns"
)

// Serve answers queries over "udp" and "tcp" with a function until the test ends. It
// returns the address, which is the same for both.
func Serve(t testing.TB, answer func(network string, w dns.ResponseWriter, q *dns.Msg)) (addr string) {
	t.Helper()
	tcp, udp := both(t)
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

// both returns sockets on one port for TCP and UDP. The kernel guarantees only that it is
// free for one of them.
func both(t testing.TB) (net.Listener, net.PacketConn) {
	t.Helper()
	for range 20 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if udp, err := net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			return tcp, udp
		}
		_ = tcp.Close()
	}
	t.Fatal("no port is free for both")
	return nil, nil
}
