package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

// open sends the request: its head and what has come of its body. done tells
// that it is all of it but for the trailer.
func (ln *lane) open(b []byte, done bool, trailer []byte) error {
	n := bytes.Index(b, []byte("\r\n\r\n")) + 4
	t := ln.trunk
	end := done && n == len(b) && len(trailer) == 0
	held := t.hold()
	defer t.letGo(held)
	if ln.ex.upgrade {
		if key, yes := http2.WebSocket(b[:n]); yes {
			ln.openTunnel(b[:n], key)
			return nil
		}
	}
	if t.h2 != nil {
		ln.h2 = t.h2.Open(ln, b[:n], end)
	}
	if ln.h2 == nil {
		ln.err = errUnprocessed // it is full, or about to leave
		ln.note().moved = true
		return nil
	}
	t.opened = ln.h2.ID()
	if end {
		ln.sent = true
		return nil
	}
	return ln.send(b[n:], done, trailer)
}

// send sends bytes of the request body, or keeps what finds no room.
func (ln *lane) send(p []byte, done bool, trailer []byte) error {
	if ln.h2 == nil {
		return errOver
	}
	held := ln.trunk.hold()
	defer ln.trunk.letGo(held)
	ln.last = done
	ln.tail = append(ln.tail[:0], trailer...)
	if len(ln.out) == 0 {
		p = p[ln.h2.Data(p, done && len(trailer) == 0):]
		if len(p) == 0 {
			ln.close()
			return nil
		}
	}
	ln.out = append(ln.trunk.w.loop.Buffers.Grow(ln.out, len(p)), p...)
	return nil
}

// push sends what waits for room. It reports whether nothing is left.
func (ln *lane) push() bool {
	if len(ln.out) > 0 {
		n := ln.h2.Data(ln.out, ln.last && len(ln.tail) == 0)
		if n < len(ln.out) {
			ln.out = ln.out[:copy(ln.out, ln.out[n:])]
			return false
		}
		ln.trunk.w.loop.Buffers.Put(ln.out)
		ln.out = nil
		ln.close()
	}
	return true
}

// close ends the request after all bytes of its body were sent.
func (ln *lane) close() {
	if !ln.last || ln.sent {
		return
	}
	ln.sent = true
	if len(ln.tail) > 0 {
		ln.h2.Trailers(ln.tail)
	}
	if ln.ended {
		ln.h2 = nil
	}
}

// Pending implements carrier.
func (ln *lane) Pending() int {
	if len(ln.out) == 0 && ln.h2 != nil && !ln.sent && ln.h2.Room() == 0 {
		return 1
	}
	return len(ln.out)
}
