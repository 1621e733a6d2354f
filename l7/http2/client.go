package http2

import "bytes"

// Available is how many streams can be opened now: 0 once the connection is
// going away or has used up its numbers.
func (c *Conn) Available() int {
	if !c.client || c.err != nil || c.gone || c.leaving != staying || c.nextID >= 1<<31-1 {
		return 0
	}
	return max(0, int(min(c.peerStreams, 1<<31-1))-c.streams)
}

// Allowed is how many streams the peer allows at once, open ones included: what
// it said, or what it is believed to allow before that.
func (c *Conn) Allowed() int { return int(min(c.peerStreams, 1<<31-1)) }

// HasSettings reports whether the peer's first SETTINGS have come. One that has
// said anything else before does not speak HTTP/2.
func (c *Conn) HasSettings() bool { return c.hasSettings }

// Ping asks the peer for a sign of life; whatever comes back is one.
func (c *Conn) Ping() {
	if c.err == nil {
		c.controlFrame(8, framePing, 0, 0)
		c.out = append(c.out, leavingPing...)
	}
}

// Open sends a request on a new stream: the bytes of an HTTP/1.1 head with its
// empty line, as http1.AppendRequest writes them. Host becomes :authority,
// connection-specific fields are left out, Upgrade among them: a request that
// asks for one is for HTTP/1. end tells that neither body nor trailers follow. It gives nil when Available is 0 or head is none.
func (c *Conn) Open(owner any, head []byte, end bool) *Stream {
	line, rest := cutLine(head)
	method, target, ok := bytes.Cut(line, []byte(" "))
	path, _, ok2 := bytes.Cut(target, []byte(" "))
	if !ok || !ok2 || c.Available() == 0 {
		return nil
	}
	s := c.add(c.nextID)
	c.nextID += 2
	c.noise.give(earnRequest) // a backend says little but in answer to something
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

// Tunnels reports whether the backend said that it takes OpenTunnel.
func (c *Conn) Tunnels() bool { return c.tunnels }

// OpenTunnel is Open for the head of a request that upgrades to WebSocket: an
// extended CONNECT (RFC 8441). An answer of 2xx means that bytes of WebSocket
// flow both ways from then on. It gives nil, too, unless Tunnels.
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
		if _, key := fieldIs(rest[:n-2], "sec-websocket-key:"); !key { // which HTTP/2 has no use for
			c.out = c.enc.field(c.out, rest[:n])
		}
		rest = rest[n:]
	}
	c.endBlock(from, s, false)
	return s
}

// WebSocket reports whether the head of a request of HTTP/1.1 asks for an
// upgrade to WebSocket, and gives the key its answer has to know.
func WebSocket(head []byte) (key []byte, yes bool) {
	_, rest := cutLine(head)
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		if v, ok := fieldIs(line, "upgrade:"); ok {
			yes = foldEqual(v, []byte("websocket"))
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

// cutLine takes a line without its CRLF from b.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 {
		return nil, nil
	}
	return b[:i-1], b[i+1:]
}

// fieldIs gives the value of a line whose name, in lower case with its colon, is
// name.
func fieldIs(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || line[len(name)-1] != ':' || !foldEqual(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return trim(line[len(name):]), true
}

// host finds the value of Host, which nearly always is in the first line.
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

// acceptsTrailers finds TE: trailers, which gRPC cannot do without.
func acceptsTrailers(b []byte) bool {
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		if v, ok := fieldIs(line, "te:"); ok && foldEqual(v, []byte("trailers")) {
			return true
		}
	}
	return false
}
