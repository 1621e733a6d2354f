package http2

import "bytes"

// Respond sends the head of a response. head is an HTTP/1.1 head with its empty line, as
// written by http1.AppendResponse. Fields that HTTP/2 forbids are dropped, names become
// lower case, and 101 becomes 200 on a tunnel. end means that nothing follows. Interim
// responses may precede the final one; later heads are ignored.
func (s *Stream) Respond(head []byte, end bool) {
	const start = len("HTTP/1.1 ")
	if s.state&(open|headSent) != open || s.conn.client || len(head) < start+3 {
		return
	}
	c := s.conn
	status := head[start : start+3]
	if string(status) == "101" && s.state&tunnel != 0 {
		status = []byte("200")
	}
	if status[0] != '1' {
		s.state |= headSent
	} else {
		end = false
	}
	from := c.beginBlock(len(head))
	c.out = c.enc.status(c.out, status)
	c.out = c.enc.lines(c.out, head[bytes.IndexByte(head, '\n')+1:])
	c.endBlock(from, s, end)
}

// Trailers sends HTTP/1.1 lines, optionally with the final empty one, as trailers and ends
// the direction.
func (s *Stream) Trailers(lines []byte) {
	if s.state&(open|weEnded|headSent) != open|headSent {
		return
	}
	from := s.conn.beginBlock(len(lines))
	s.conn.out = s.conn.enc.lines(s.conn.out, lines)
	s.conn.endBlock(from, s, true)
}

// lines appends the fields up to an empty line.
func (e *encoder) lines(dst, b []byte) []byte {
	for {
		n := bytes.IndexByte(b, '\n') + 1
		if n <= 2 {
			return dst
		}
		dst = e.field(dst, b[:n])
		b = b[n:]
	}
}

// beginBlock begins a header block for a head of n bytes and returns the offset of its frame
// header. The encoded block is rarely longer than the head.
func (c *Conn) beginBlock(n int) int {
	c.grow(frameHeader + n + 512)
	from := len(c.out)
	c.out = appendHeader(c.out, 0, frameHeaders, 0, 0)
	c.out = c.enc.begin(c.out)
	return from
}

// endBlock completes the frame of a header block, or splits it into several.
func (c *Conn) endBlock(from int, s *Stream, end bool) {
	flags := uint8(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	if n := len(c.out) - from - frameHeader; n <= maxFrame {
		putHeader(c.out[from:], n, frameHeaders, flags, s.id)
	} else {
		c.split(from, n, s.id, flags)
	}
	if end {
		s.end()
	}
}

// split splits a block of n bytes into frames; the first frame header is at from.
func (c *Conn) split(from, n int, id uint32, flags uint8) {
	frames := (n + maxFrame - 1) / maxFrame
	for range frames - 1 {
		c.out = appendHeader(c.out, 0, 0, 0, 0)
	}
	for i := frames - 1; i > 0; i-- {
		part := min(maxFrame, n-i*maxFrame)
		at := from + i*(frameHeader+maxFrame)
		old := from + frameHeader + i*maxFrame
		copy(c.out[at+frameHeader:], c.out[old:old+part])
		last := uint8(0)
		if i == frames-1 {
			last = flagEndHeaders
		}
		putHeader(c.out[at:], part, frameContinuation, last, id)
	}
	putHeader(c.out[from:], maxFrame, frameHeaders, flags&^flagEndHeaders, id)
}

// Data sends bytes of the body and returns the number accepted, at most Room. The others
// must be offered again when Handler.Writable is called. end ends the direction once all of
// p was accepted; p may be empty then.
func (s *Stream) Data(p []byte, end bool) int {
	if s.state&(open|weEnded|headSent) != open|headSent {
		return 0
	}
	c := s.conn
	n := 0
	if len(p) > 0 {
		if n = min(len(p), c.room(s)); n < len(p) {
			end = false
		}
	}
	if n > 0 || end {
		c.appendData(s, p[:n], end)
	}
	if n < len(p) {
		s.wait()
	}
	if end {
		s.end()
	}
	return n
}

// appendData writes DATA frames for p, which must fit the windows.
func (c *Conn) appendData(s *Stream, p []byte, end bool) {
	n := len(p)
	c.grow(n + frameHeader*(n/maxFrame+1))
	s.blocked = 0
	s.sendWindow -= int32(n)
	c.sendWindow -= int32(n)
	if c.turn == s {
		c.share -= n
	}
	earned := n >> 10
	if s.sendWindow > 0 && c.sendWindow > 0 {
		earned += earnData
	}
	c.noise.give(int32(earned))
	for {
		part := min(len(p), maxFrame)
		flags := uint8(0)
		if end && part == len(p) {
			flags = flagEndStream
		}
		c.out = appendHeader(c.out, part, frameData, flags, s.id)
		c.out = append(c.out, p[:part]...)
		if p = p[part:]; len(p) == 0 {
			return
		}
	}
}

// end ends our direction.
func (s *Stream) end() {
	s.state |= weEnded
	s.state &^= short
	s.conn.dequeue(s)
	s.blocked = 0
	if s.state&peerEnded != 0 {
		s.conn.done(s)
	}
}

// Reset ends the stream at once. CodeNo is for a client whose response is complete before
// its request: it may finish the request within its window and is reset otherwise. Any other
// code tells the peer that the message is incomplete.
func (s *Stream) Reset(code Code) {
	if s.state&open == 0 {
		return
	}
	c := s.conn
	if s.state&(headSent|weEnded) == headSent|weEnded {
		c.resets.give(earnComplete)
	}
	if code == CodeNo && s.state&weEnded != 0 && !c.client {
		c.waive(s)
	} else {
		c.reset(s.id, code)
	}
	c.remove(s)
}

// reset writes RST_STREAM.
func (c *Conn) reset(id uint32, code Code) {
	c.remember(id, true)
	c.controlFrame(4, frameRSTStream, 0, id)
	c.out = appendUint32(c.out, uint32(code))
}

// Consumed returns n bytes of Handler.Data to the window, so that the peer may send more.
func (s *Stream) Consumed(n int) {
	if s.state&open == 0 {
		return // remove has credited everything
	}
	c := s.conn
	k := int32(min(n, int(s.held)))
	s.held -= k
	c.credit(k)
	s.moved += k
	s.credit(k)
}

// credit returns n bytes to the window of the stream. An update is sent once half a window
// is due.
func (s *Stream) credit(n int32) {
	s.owed += n
	if s.state&peerEnded != 0 || s.owed < s.window/2 {
		return
	}
	c := s.conn
	if limit := int32(c.sh.limits.MaxWindow); s.moved >= s.window && s.window < limit {
		wider := min(2*s.window, limit)
		s.owed += wider - s.window
		s.window, s.moved = wider, 0
	}
	c.update(s.id, s.owed)
	s.recvWindow += s.owed
	s.owed = 0
}

// credit returns n bytes to the connection window.
func (c *Conn) credit(n int32) {
	if n == 0 || c.err != nil {
		return
	}
	c.owed += n
	c.moved += n
	if c.owed < c.window/2 {
		return
	}
	if limit := int32(c.sh.limits.MaxConnWindow); c.moved >= c.window && c.window < limit {
		wider := min(2*c.window, limit)
		c.owed += wider - c.window
		c.window, c.moved = wider, 0
	}
	c.update(0, c.owed)
	c.recvWindow += c.owed
	c.owed = 0
}

// update writes WINDOW_UPDATE.
func (c *Conn) update(id uint32, n int32) {
	c.controlFrame(4, frameWindowUpdate, 0, id)
	c.out = appendUint32(c.out, uint32(n))
}

// controlFrame begins a frame of n bytes without flow control.
func (c *Conn) controlFrame(n int, kind, flags uint8, id uint32) {
	c.grow(frameHeader + n)
	c.out = appendHeader(c.out, n, kind, flags, id)
	c.control += frameHeader + n
}
