package forward_test

import (
	"io"
	"net"
	"testing"
	"time"
)

// If a client sent data, waited and ended without a response, that counts against the
// backend. It does not count if the backend then ends, too, because it may only receive.
func TestLateDepartureCountsAgainstTheBackend(t *testing.T) {
	for name, c := range map[string]struct {
		backend         func(c *net.TCPConn) // nil: it hangs
		says            string
		waits           time.Duration
		abandoned, ends uint64
	}{
		"it hangs":                    {nil, "hello\n", 1100 * time.Millisecond, 1, 0},
		"the client left at once":     {nil, "hello\n", 0, 0, 0},
		"the client had said nothing": {nil, "", 1100 * time.Millisecond, 0, 0},
		"it answers":                  {echo, "hello\n", 1100 * time.Millisecond, 0, 1},
		"it only takes":               {func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }, "hello\n", 1100 * time.Millisecond, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t, 1)
			still := make(chan bool)
			if c.backend == nil {
				c.backend = func(*net.TCPConn) { <-still }
			}
			f := a.farm(serve(t, c.backend).at())
			t.Cleanup(func() { close(still) }) // before the server waits for it
			a.publish(f)
			conn := a.dial(f)
			_, _ = io.WriteString(conn, c.says)
			eventually(t, "the backend has it", func() bool { b := a.backend(1); return b.Connects == 1 && b.BytesOut == uint64(len(c.says)) })
			time.Sleep(c.waits)
			_ = conn.CloseWrite()
			eventually(t, "its end is passed on", func() bool { b := a.backend(1); return b.Ends == c.ends && b.Abandoned == c.abandoned })
			a.Turn()
			if b := a.backend(1); b.Ends != c.ends || b.Abandoned != c.abandoned {
				t.Errorf("%d were abandoned and the backend ended %d, want %d and %d", b.Abandoned, b.Ends, c.abandoned, c.ends)
			}
		})
	}
}
