package backend

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

// WebSocket to backends that speak HTTP/2: an extended CONNECT, which they have
// to allow first (RFC 8441). To the exchange it is a switch of protocols.

// openTunnel sends a request that upgrades to WebSocket.
func (s *stream) openTunnel(head, key []byte) {
	c := s.conn
	switch {
	case c.h2 == nil || c.h2.Available() == 0:
		s.err = errUnprocessed
	case !c.h2.Tunnels():
		s.err = errNoTunnel
	default:
		s.tunnel, s.key = true, append(s.key[:0], key...)
		s.pipe.H2 = c.h2.OpenTunnel(s, head)
		c.lastOpened = s.pipe.H2.ID()
		return
	}
	s.notify().readable = true
}

// awaitSettings lets an exchange that wants a tunnel wait until the backend has said
// what it allows, no longer than for an answer.
func (s *stream) awaitSettings() {
	s.reused, s.awaitsSettings = false, true
	s.deadline = s.conn.pool.loop.Now() + s.timeout
}

// gotSettings lets the exchanges go on that have waited for the backend's settings.
func (c *h2Conn) gotSettings() {
	if c.hasSettings {
		return
	}
	c.hasSettings = true
	for s := c.streams.First(); s != nil; s = s.links.Next() {
		if s.awaitsSettings {
			s.awaitsSettings, s.deadline = false, 0
			s.notify().outcome = true
		}
	}
}

// switched makes the answer that a tunnel is established one of HTTP/1.1.
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
