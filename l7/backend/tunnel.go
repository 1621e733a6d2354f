package backend

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

// WebSocket to backends that speak HTTP/2: an extended CONNECT, which they have
// to allow first (RFC 8441). To the exchange it is a switch of protocols.

// openTunnel sends a request that upgrades to WebSocket.
func (s *stream) openTunnel(head, key []byte) {
	t := s.conn
	switch {
	case t.h2 == nil || t.h2.Available() == 0:
		s.err = errUnprocessed
	case !t.h2.Tunnels():
		s.err = errNoTunnel
	default:
		s.tunnel, s.key = true, append(s.key[:0], key...)
		s.pipe.H2 = t.h2.OpenTunnel(s, head)
		t.opened = s.pipe.H2.ID()
		return
	}
	s.note().moved = true
}

// await lets an exchange that wants a tunnel wait until the backend has said
// what it allows, no longer than for an answer.
func (s *stream) await() {
	s.reused, s.waits = false, true
	s.deadline = s.conn.pool.loop.Now() + s.patience
}

// release lets the exchanges go on that have waited for the backend's settings.
func (t *h2Conn) release() {
	if t.settled {
		return
	}
	t.settled = true
	for s := t.head; s != nil; s = s.next {
		if s.waits {
			s.waits, s.deadline = false, 0
			s.note().outcome = true
		}
	}
}

// switched makes the answer that a tunnel stands one of HTTP/1.1.
func (s *stream) switched(head []byte) []byte {
	s.pipe.Chunked = false
	out := append(s.conn.pool.loop.Scratch[:0], "HTTP/1.1 101 Switching Protocols\r\n"...)
	for i := 0; i+2 < len(head); { // its lines but for the first and the one that frames a body
		n := i + lineLength(head[i:])
		if i > 0 && !framing(head[i:n]) {
			out = append(out, head[i:n]...)
		}
		i = n
	}
	out = append(out, "upgrade: websocket\r\nconnection: upgrade\r\n"...)
	if len(s.key) == 24 {
		out = append(http2.AppendAccept(append(out, "sec-websocket-accept: "...), s.key), "\r\n"...)
	}
	out = append(out, "\r\n"...)
	s.conn.pool.loop.Scratch = out
	return out
}

// CloseWrite implements Transport.
func (s *stream) CloseWrite() { _ = s.SendBody(nil, true, nil) }

// lineLength is how long the line at the start of b is.
func lineLength(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }

// framing reports whether a line, as http2 writes it, says where a body ends.
func framing(line []byte) bool {
	return bytes.HasPrefix(line, []byte("transfer-encoding:")) || bytes.HasPrefix(line, []byte("content-length:"))
}
