package http2

import (
	"bytes"

	"github.com/sluicelb/sluice/core/ascii"
)

// Available returns the number of streams that can be opened now. It is 0 once the
// connection is going away or out of stream numbers.
func (c *Conn) Available() int {
	if !c.client || c.err != nil || c.gone || c.leaving != staying || c.nextID >= 1<<31-1 {
		return 0
	}
	return max(0, int(min(c.peerStreams, 1<<31-1))-c.streams)
}

// Allowed returns the peer's limit of concurrent streams, including open ones. Before its
// SETTINGS it is the assumed limit.
func (c *Conn) Allowed() int { return int(min(c.peerStreams, 1<<31-1)) }

// HasSettings reports whether the peer's first SETTINGS have arrived. A peer that sends
// anything else first does not speak HTTP/2.
func (c *Conn) HasSettings() bool { return c.hasSettings }

// Ping sends a PING. Any frame in return shows that the peer is alive.
func (c *Conn) Ping() {
	if c.err == nil {
		c.controlFrame(8, framePing, 0, 0)
		c.out = append(c.out, leavingPing...)
	}
}

// Open sends a request on a new stream. head is an HTTP/1.1 head with its empty line, as
// written by http1.AppendRequest. Host becomes :authority. Connection-specific fields are
// left out, including Upgrade, because upgrades need HTTP/1. end means that neither body nor
// trailers follow. Open returns nil if Available is 0 or head is invalid.
func (c *Conn) Open(owner any, head []byte, end bool) *Stream {
	line, rest := cutLine(head)
	method, target, ok := bytes.Cut(line, []byte(" "))
	path, _, ok2 := bytes.Cut(target, []byte(" "))
	if !ok || !ok2 || c.Available() == 0 {
		return nil
	}
	s := c.add(c.nextID)
	c.nextID += 2
	c.noise.give(earnRequest) // a backend sends little except in response to requests
	s.Owner = owner
	s.state |= headSent
	if string(method) == "HEAD" {
		s.state |= noBody
	}
	from := c.beginBlock(len(head))
	c.out = c.pseudo(c.out, method, path, host(rest))
	c.out = c.enc.lines(c.out, rest)
	if acceptsTrailers(rest) {
		c.out = c.enc.teTrailers(c.out)
	}
	c.endBlock(from, s, end)
	return s
}

// Tunnels reports whether the backend allows extended CONNECT, see OpenTunnel.
func (c *Conn) Tunnels() bool { return c.tunnels }

// OpenTunnel is Open for the head of a request that upgrades to WebSocket. It sends an
// extended CONNECT (RFC 8441). After a 2xx response, WebSocket bytes flow in both
// directions. It also returns nil if Tunnels is false.
func (c *Conn) OpenTunnel(owner any, head []byte) *Stream {
	line, rest := cutLine(head)
	_, target, ok := bytes.Cut(line, []byte(" "))
	path, _, ok2 := bytes.Cut(target, []byte(" "))
	if !ok || !ok2 || !c.tunnels || c.Available() == 0 {
		return nil
	}
	s := c.add(c.nextID)
	c.nextID += 2
	c.noise.give(earnRequest)
	s.Owner = owner
	s.state |= headSent | tunnel
	from := c.beginBlock(len(head))
	c.out = c.pseudo(c.out, []byte("CONNECT"), path, host(rest))
	c.out = literal(c.out, 0, 4, 0, []byte(":protocol"), []byte("websocket"))
	for n := bytes.IndexByte(rest, '\n') + 1; n > 2; n = bytes.IndexByte(rest, '\n') + 1 {
		if _, key := fieldIs(rest[:n-2], "sec-websocket-key:"); !key { // unused in HTTP/2
			c.out = c.enc.field(c.out, rest[:n])
		}
		rest = rest[n:]
	}
	c.endBlock(from, s, false)
	return s
}

// WebSocket reports whether an HTTP/1.1 request head asks for an upgrade to WebSocket. key
// is its Sec-WebSocket-Key.
func WebSocket(head []byte) (key []byte, yes bool) {
	_, rest := cutLine(head)
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		if v, ok := fieldIs(line, "upgrade:"); ok {
			yes = ascii.Is(v, "websocket")
		}
		if v, ok := fieldIs(line, "sec-websocket-key:"); ok {
			key = v
		}
	}
	return key, yes
}

// pseudo appends the pseudo fields of a request.
func (c *Conn) pseudo(dst, method, path, host []byte) []byte {
	switch string(method) {
	case "GET":
		dst = append(dst, indexed|staticMethod)
	case "POST":
		dst = append(dst, indexed|staticMethod+1)
	default:
		dst = c.pseudoField(dst, staticMethod, method)
	}
	dst = append(dst, indexed|c.scheme)
	if len(host) > 0 {
		dst = c.pseudoField(dst, staticAuthority, host)
	}
	if string(path) == "/" {
		return append(dst, indexed|staticPath)
	}
	return c.pseudoField(dst, staticPath, path)
}

func (c *Conn) pseudoField(dst []byte, i uint8, value []byte) []byte {
	line := append(c.sh.line[:0], static[i].line[:static[i].name]...)
	line = append(append(append(line, ": "...), value...), "\r\n"...)
	c.sh.line = line
	return c.enc.known(dst, line, i)
}

// cutLine splits the first line off b and removes its CRLF.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 {
		return nil, nil
	}
	return b[:i-1], b[i+1:]
}

// fieldIs returns the value of a line if its field name matches name, which is in lower case
// with its colon.
func fieldIs(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || line[len(name)-1] != ':' || !ascii.Is(line[:len(name)], name) {
		return nil, false
	}
	return trim(line[len(name):]), true
}

// host returns the value of Host, which is nearly always the first line.
func host(b []byte) []byte {
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		if v, ok := fieldIs(line, "host:"); ok {
			return v
		}
	}
	return nil
}

// acceptsTrailers reports whether TE contains trailers, which gRPC requires.
func acceptsTrailers(b []byte) bool {
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		if v, ok := fieldIs(line, "te:"); ok && ascii.Is(v, "trailers") {
			return true
		}
	}
	return false
}
