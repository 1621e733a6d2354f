//go:build !race

package proxy_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

// TestExchangeAllocatesNothing runs whole exchanges through the loop and
// counts every allocation of the process: client, backend and engine.
func TestExchangeAllocatesNothing(t *testing.T) {
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		buf := make([]byte, 4096)
		answer := []byte(ok)
		for {
			if _, err := c.TCPConn.Read(buf); err != nil {
				return
			}
			if _, err := c.TCPConn.Write(answer); err != nil {
				return
			}
		}
	})
	s := l7test.Service("web", b.Addr)
	s.VHost, s.URL = `a\.test`, "^/"
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	request, answer := []byte(get("/path?q=1")), make([]byte, 4096)
	exchange := func() {
		if _, err := c.TCPConn.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAtLeast(c.TCPConn, answer, len(ok)); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		exchange()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const exchanges = 5000
	for range exchanges {
		exchange()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > exchanges/100 {
		t.Fatalf("%d allocations in %d exchanges, want none", n, exchanges)
	}
}

// TestRefusingAllocatesNothing is the same for requests that are refused: all
// but the first few lines, which are not written by the loop.
func TestRefusingAllocatesNothing(t *testing.T) {
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", "127.0.0.1:1")))
	request, answer := []byte("BREW / HTTP/1.1\r\nHost: a.test\r\n\r\n"), make([]byte, 4096)
	refused := func() {
		if _, err := c.TCPConn.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := c.TCPConn.Read(answer); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		refused()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const requests = 5000
	for range requests {
		refused()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > requests/10 {
		t.Fatalf("%d allocations in %d refusals, want none of the loop", n, requests)
	}
}
