package http2

// A response may be complete before the request is. The rest of the request is discarded for
// a moment, within the open window. A client that takes longer or sends more gets RST_STREAM
// with NO_ERROR (RFC 9113 section 8.1). An immediate reset makes some clients, e.g. curl 7,
// lose the response while they are still writing, even if the window is exhausted.

// rest is the unfinished request of a completed response. For the client the stream is
// half-closed (section 5.1), so its protocol violations count as before the response.
type rest struct {
	stream uint32 // 0 without a stream
	left   int32  // bytes the client may send before our reset arrives
	window int32  // our send window
	length int64  // missing bytes of Content-Length; negative without one
	old    bool   // a Tick has passed
}

// waive lets a client finish a request after its response. If too many are unfinished, the
// oldest is reset.
func (c *Conn) waive(s *Stream) {
	c.remember(s.id, true)
	r := &c.rests[c.restAt%uint8(len(c.rests))]
	c.restAt++
	c.stop(r)
	*r = rest{stream: s.id, left: s.recvWindow, window: s.sendWindow, length: -1}
	if s.state&counted != 0 {
		r.length = s.length
	}
	c.exhausted = c.exhausted || r.left <= 0
}

// Exhausted reports whether a request that nobody reads has used up its window. Some clients
// wait for the reset then.
func (c *Conn) Exhausted() bool { return c.exhausted }

// ResetExhausted resets these requests. The owner calls it about 0.1 s after the last output, so
// that the client has read the response.
func (c *Conn) ResetExhausted() {
	c.exhausted = false
	for i := range c.rests {
		if r := &c.rests[i]; r.left <= 0 {
			c.stop(r)
		}
	}
}

// Tick resets the requests whose response was complete before the previous Tick. The owner
// calls it about every second.
func (c *Conn) Tick() {
	for i := range c.rests {
		if r := &c.rests[i]; r.old {
			c.stop(r)
		} else {
			r.old = r.stream != 0
		}
	}
}

// stop resets a request that nobody reads.
func (c *Conn) stop(r *rest) {
	if r.stream == 0 {
		return
	}
	c.controlFrame(4, frameRSTStream, 0, r.stream)
	c.out = appendUint32(c.out, uint32(CodeNo))
	*r = rest{}
}

// waived returns the rest of a stream, or nil.
func (c *Conn) waived(id uint32) *rest {
	for i := range c.rests {
		if c.rests[i].stream == id {
			return &c.rests[i]
		}
	}
	return nil
}

// over removes a rest because the client ended the stream, or violated the protocol (why).
func (c *Conn) over(r *rest, why *Error) {
	id := r.stream
	*r = rest{}
	if why != nil {
		c.refuse(id, why)
		return
	}
	c.peerEnded(id)
}

// curtail resets a request that the client ended early. Clients, e.g. curl, end an upload as
// soon as they get an error. Therefore it is not counted as a violation: the request has its
// response, and the limit of resets would close the connections of such clients.
func (c *Conn) curtail(r *rest) {
	id := r.stream
	*r = rest{}
	c.reset(id, ErrLengthData.Code)
}

// dropData discards a frame with n bytes if its stream is a rest, and reports whether it is.
func (c *Conn) dropData(h header, n int) bool {
	r := c.waived(h.stream)
	if r == nil {
		return false
	}
	end := h.flags&flagEndStream != 0
	r.left -= int32(h.length)
	if r.length >= 0 {
		switch r.length -= int64(n); {
		case r.length < 0:
			c.over(r, ErrLengthData)
			return true
		case end && r.length > 0:
			c.curtail(r)
			return true
		}
	}
	switch {
	case end:
		c.over(r, nil)
	case r.left < 0:
		c.stop(r)
	case r.left == 0:
		c.exhausted = true
	}
	return true
}

// dropTrailers handles a header block for a rest.
func (c *Conn) dropTrailers(r *rest, b *block) {
	_, why := c.sh.in.trailers()
	switch {
	case b.itself:
		why = ErrDependency
	case why != nil:
	case !b.end:
		why = ErrTrailers
	case r.length > 0:
		c.curtail(r)
		return
	}
	c.over(r, why)
}

// updateClosed handles WINDOW_UPDATE for a stream that is no longer open. Updates that were
// valid while it was open are ignored.
func (c *Conn) updateClosed(id uint32, n int64) {
	r := c.waived(id)
	_, ours := c.recall(id)
	switch {
	case r == nil && (ours || n > 0):
	case r == nil:
		c.refuse(id, ErrIncrement)
	case n == 0:
		c.over(r, ErrIncrement)
	case int64(r.window)+n > maxWindow:
		c.over(r, ErrWindowOverflow)
	default:
		r.window += int32(n)
	}
}
