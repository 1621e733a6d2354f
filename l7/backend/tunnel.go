package backend

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

// WebSocket to HTTP/2 backends uses extended CONNECT, which the backend has to allow in
// SETTINGS (RFC 8441). The exchange sees a protocol upgrade.

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

// awaitSettings makes the exchange wait for the backend's SETTINGS, at most for the response
// timeout.
func (s *stream) awaitSettings() {
	s.reused, s.awaitsSettings = false, true
	s.deadline = s.conn.pool.loop.Now() + s.timeout
}

// gotSettings resumes the exchanges that waited for the backend's SETTINGS.
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

// switched turns the response to a successful CONNECT into a 101 of HTTP/1.1.
func (s *stream) switched(head []byte) []byte {
	s.pipe.Chunked = false
	out := append(s.conn.pool.loop.Scratch[:0], "HTTP/1.1 101 Switching Protocols\r\n"...)
	for i := 0; i+2 < len(head); { // all lines except the first and the framing
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

// lineLength returns the length of the first line of b.
func lineLength(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }

// framing reports whether a line, as written by package http2, frames the body.
func framing(line []byte) bool {
	return bytes.HasPrefix(line, []byte("transfer-encoding:")) || bytes.HasPrefix(line, []byte("content-length:"))
}
