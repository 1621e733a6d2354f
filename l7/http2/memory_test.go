//go:build !race

package http2_test

import (
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// An idle connection costs little more than its HPACK tables. It holds neither buffers nor
// streams.
func TestIdleConnectionIsSmall(t *testing.T) {
	const n = 2000
	sh, q := newShared(), &quick{raw: true}
	s := newScript().greet()
	for id := uint32(1); id < 9; id += 2 {
		s.headers(id, true, s.fields(request...))
	}
	read := s.take()
	var before, after runtime.MemStats
	conns := make([]*http2.Conn, 0, n)
	p := make([]byte, len(read))
	open := func() {
		c := http2.NewServer(sh, q)
		copy(p, read)
		if err := c.Receive(p); err != nil || c.Streams() != 0 {
			t.Fatal(err, c.Streams())
		}
		c.Written()
		conns = append(conns, c)
	}
	open()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for len(conns) < n {
		open()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / n
	t.Logf("%d bytes a connection", each)
	if each > 3<<10 {
		t.Errorf("%d bytes a connection", each)
	}
	runtime.KeepAlive(conns)
}
