//go:build !race

package client_test

import (
	"bytes"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

// TestHTTP2ExchangesAllocateNothing counts all allocations of the process while one
// connection carries one or several streams.
func TestHTTP2ExchangesAllocateNothing(t *testing.T) {
	for name, streams := range map[string]uint32{"one": 1, "twenty": 20} {
		for kind, body := range map[string]int{"get": 0, "post": 1000} {
			t.Run(name+" "+kind, func(t *testing.T) { streamsAllocate(t, streams, body) })
		}
	}
}

func streamsAllocate(t *testing.T, streams uint32, body int) {
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		buf, answer := make([]byte, 65536), []byte("HTTP/1.1 200 OK\r\nServer: some/1\r\nContent-Length: 2\r\n\r\nok")
		for {
			n, err := c.TCPConn.Read(buf)
			if err != nil {
				return
			}
			if body > 0 && !bytes.HasSuffix(buf[:n], []byte("0\r\n\r\n")) {
				continue
			}
			if _, err := c.TCPConn.Write(answer); err != nil {
				return
			}
		}
	})
	s := l7test.Service("web", b.Addr)
	s.VHost, s.URL = `a\.test`, "^/"
	const rounds = 500
	n := l7test.Mallocs(60, rounds, l7test.StreamRounds(t, l7test.New(t, 1).Serve(nil, s), streams, body))
	if n > uint64(rounds*streams/50) {
		t.Fatalf("%d allocations in %d exchanges, want none", n, rounds*streams)
	}
}
