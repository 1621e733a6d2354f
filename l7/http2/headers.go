package http2

// block is a header block with outstanding CONTINUATION frames.
type block struct {
	bytes  []byte // pooled
	stream uint32 // 0 without a block
	end    bool   // END_STREAM is set
	itself bool   // the stream depends on itself
	frames int
}

// onHeaders handles HEADERS.
func (c *Conn) onHeaders(h header, p []byte) *Error {
	if h.stream == 0 {
		return ErrFrameStream
	}
	b := block{stream: h.stream, end: h.flags&flagEndStream != 0}
	p, why := unpad(h, p)
	if why != nil {
		return why
	}
	if h.flags&flagPriority != 0 {
		if len(p) < 5 {
			return ErrFrameLength
		}
		b.itself = dependency(p) == h.stream
		p = p[5:]
	}
	if h.flags&flagEndHeaders != 0 {
		return c.headers(&b, p)
	}
	c.block = b
	return c.keepBlock(p)
}

// unpad removes the padding of a payload.
func unpad(h header, p []byte) ([]byte, *Error) {
	if h.flags&flagPadded == 0 {
		return p, nil
	}
	if len(p) == 0 {
		return nil, ErrFrameLength
	}
	pad := int(p[0])
	if p = p[1:]; pad > len(p) {
		return nil, ErrPadding
	}
	return p[:len(p)-pad], nil
}

// onContinuation handles CONTINUATION. check has verified that it belongs to the current
// block, if there is one.
func (c *Conn) onContinuation(h header, p []byte) *Error {
	if c.block.stream == 0 {
		return ErrContinuation
	}
	if c.block.frames++; c.block.frames > c.sh.limits.Continuations {
		return ErrContinuationFlood
	}
	if why := c.keepBlock(p); why != nil || h.flags&flagEndHeaders == 0 {
		return why
	}
	b := c.block
	c.block = block{}
	why := c.headers(&b, b.bytes)
	if b.bytes != nil {
		c.sh.buffers.Put(b.bytes)
	}
	return why
}

// keepBlock stores a part of a header block.
func (c *Conn) keepBlock(p []byte) *Error {
	if len(c.block.bytes)+len(p) > c.sh.limits.HeaderList+maxFrame {
		return ErrBlock
	}
	if len(p) > 0 {
		c.block.bytes = append(c.sh.buffers.Grow(c.block.bytes, len(p)), p...)
	}
	return nil
}

// headers handles a complete header block. It is always decoded, because later blocks depend
// on the table.
func (c *Conn) headers(b *block, p []byte) *Error {
	if why := c.decode(p); why != nil {
		return why
	}
	s := c.find(b.stream)
	switch {
	case s == nil && c.client:
		if c.idle(b.stream) {
			return ErrIdle
		}
		return c.spend(costFrame, ErrClosedFlood)
	case s == nil:
		return c.newHeaders(b)
	case s.state&peerEnded != 0:
		c.offend(s, ErrClosed)
	case b.itself:
		c.offend(s, ErrDependency)
	case s.state&headed == 0:
		return c.responseHead(s, b.end)
	default:
		c.trailers(s, b.end)
	}
	return nil
}

// newHeaders opens a stream for a client if that is allowed.
func (c *Conn) newHeaders(b *block) *Error {
	switch {
	case b.stream&1 == 0:
		return ErrStreamID
	case b.stream > c.peerLast:
	default:
		switch known, ours := c.recall(b.stream); {
		case ours:
			if r := c.waived(b.stream); r != nil {
				c.dropTrailers(r, b)
			}
			return c.spend(costFrame, ErrClosedFlood)
		case known:
			return ErrClosed
		}
		return ErrStreamID
	}
	if c.leaving == leftFinal {
		return c.spend(costFrame, ErrClosedFlood) // the stream is beyond our GOAWAY
	}
	c.peerLast = b.stream
	c.noise.give(earnRequest)
	switch {
	case c.streams >= c.sh.limits.Streams:
		c.refuse(b.stream, ErrStreams)
	case b.itself:
		c.refuse(b.stream, ErrDependency)
	default:
		c.requestHead(b.stream, b.end)
	}
	return nil
}

// requestHead begins the exchange of a decoded request.
func (c *Conn) requestHead(id uint32, end bool) {
	m := &c.sh.in
	head, why := m.request(end)
	if why == nil && end && m.length > 0 {
		why = ErrLengthData
	}
	if why != nil {
		c.refuse(id, why)
		return
	}
	s := c.add(id)
	s.state |= headed
	switch {
	case m.have&haveProtocol != 0:
		s.state |= tunnel
	case m.length >= 0:
		s.state |= counted
		s.length = m.length
	}
	if end {
		s.state |= peerEnded
	}
	c.handler.Head(s, head, end)
}

// responseHead passes the head of a response to its owner.
func (c *Conn) responseHead(s *Stream, end bool) *Error {
	m := &c.sh.in
	status, head, why := m.response(end, s.state&noBody != 0)
	if why == nil && m.over {
		why = ErrHeadTooLong
	}
	if why != nil {
		c.offend(s, why)
		return nil
	}
	if status < 200 {
		c.handler.Head(s, head, false)
		return c.spend(costFrame, ErrInterimFlood)
	}
	s.state |= headed
	if status == 204 || status == 304 {
		s.state |= noBody
	}
	if m.length >= 0 && s.state&noBody == 0 && !s.tunnelled(status) {
		s.state |= counted
		s.length = m.length
		if end && m.length > 0 {
			c.offend(s, ErrLengthData)
			return nil
		}
	}
	if end {
		c.peerEnd(s)
	}
	c.handler.Head(s, head, end)
	return nil
}

// tunnelled reports whether a response with that status makes the stream a tunnel.
// Content-Length has no meaning there (RFC 9110 section 9.3.6).
func (s *Stream) tunnelled(status int) bool { return s.state&tunnel != 0 && status < 300 }

// trailers passes the trailers to their owner.
func (c *Conn) trailers(s *Stream, end bool) {
	lines, why := c.sh.in.trailers()
	switch {
	case why != nil:
	case !end, s.state&tunnel != 0:
		why = ErrTrailers
	case s.state&counted != 0 && s.length > 0:
		why = ErrLengthData
	}
	if why != nil {
		c.offend(s, why)
		return
	}
	c.peerEnd(s)
	c.handler.Trailers(s, lines)
}

// peerEnd records the end of the peer's direction before the owner is notified, so that the
// owner's calls in that event can end the stream.
func (c *Conn) peerEnd(s *Stream) {
	s.state |= peerEnded
	if s.state&weEnded != 0 {
		c.done(s)
	}
}

// offend ends a stream because of an error of the peer.
func (c *Conn) offend(s *Stream, why *Error) {
	id := s.id
	c.remove(s)
	c.handler.Reset(s, why.Code, why)
	c.refuse(id, why)
}

// refuse resets a stream that is not open. Clients can cause this at no cost to them, so it
// counts like their own resets (CVE-2025-8671).
func (c *Conn) refuse(id uint32, why *Error) {
	if c.err != nil {
		return // the owner closed the connection meanwhile
	}
	c.sh.counts[why.index]++
	c.reset(id, why.Code)
	if !c.client && !c.resets.take(costReset, c.sh.now) {
		c.fail(ErrRapidReset)
	}
}
