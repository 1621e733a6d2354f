package http2

// A request may be answered before all of it has come. The rest is taken and
// dropped for a moment, as far as the window already allows; who takes longer or
// sends more is told to stop, by RST_STREAM with NO_ERROR (RFC 9113 section 8.1).
// Told at once, some clients, curl 7 among them, meet the reset while they still
// write and lose the answer that came before it.

// rest is what may still come of a request that was answered. To the client the
// stream is half closed (section 5.1), so that what it breaks there is as wrong as
// it was before the answer, however soon that came.
type rest struct {
	stream uint32 // 0 when there is none
	left   int32  // bytes the client may send without having heard of us
	window int32  // bytes we could send
	length int64  // what is missing of the content-length; negative without one
	old    bool   // Tick has seen it
}

// waive lets a client finish a request that was answered. Of many at once the
// oldest is told to stop.
func (c *Conn) waive(s *Stream) {
	c.remember(s.id, true)
	r := &c.rests[c.restAt%uint8(len(c.rests))]
	c.restAt++
	c.stop(r)
	*r = rest{stream: s.id, left: s.recvWindow, window: s.sendWindow, length: -1}
	if s.state&counted != 0 {
		r.length = s.length
	}
	if r.left <= 0 {
		c.stop(r)
	}
}

// Tick tells clients to stop whose requests were answered before the Tick before
// this one. The owner calls it about every second.
func (c *Conn) Tick() {
	for i := range c.rests {
		if r := &c.rests[i]; r.old {
			c.stop(r)
		} else {
			r.old = r.stream != 0
		}
	}
}

// stop tells the client that nobody reads a request.
func (c *Conn) stop(r *rest) {
	if r.stream == 0 {
		return
	}
	c.controlFrame(4, frameRSTStream, 0, r.stream)
	c.out = appendUint32(c.out, uint32(CodeNo))
	*r = rest{}
}

// waived gives what may come of a stream, nil when nothing may.
func (c *Conn) waived(id uint32) *rest {
	for i := range c.rests {
		if c.rests[i].stream == id {
			return &c.rests[i]
		}
	}
	return nil
}

// over forgets a rest: the client has ended the stream, or broke it for that
// reason.
func (c *Conn) over(r *rest, why *Error) {
	id := r.stream
	*r = rest{}
	if why != nil {
		c.refuse(id, why)
		return
	}
	c.peerEnded(id)
}

// dropData takes a frame with n bytes of a request that was answered, and reports
// whether it is one.
func (c *Conn) dropData(h header, n int) bool {
	r := c.waived(h.stream)
	if r == nil {
		return false
	}
	end := h.flags&flagEndStream != 0
	r.left -= int32(h.length)
	if r.length >= 0 {
		if r.length -= int64(n); r.length < 0 || end && r.length > 0 {
			c.over(r, ErrLengthData)
			return true
		}
	}
	switch {
	case end:
		c.over(r, nil)
	case r.left <= 0:
		c.stop(r)
	}
	return true
}

// dropTrailers takes a header block of a request that was answered.
func (c *Conn) dropTrailers(r *rest, b *block) {
	_, why := c.sh.in.trailers()
	switch {
	case b.itself:
		why = ErrDependency
	case why != nil:
	case !b.end:
		why = ErrTrailers
	case r.length > 0:
		why = ErrLengthData
	}
	c.over(r, why)
}

// updateClosed takes a WINDOW_UPDATE for a stream that is not open any more: one
// that was right when the stream was is ignored.
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
