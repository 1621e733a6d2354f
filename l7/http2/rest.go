package http2

// A request may be answered before all of it has come. The rest is taken and
// dropped for a moment, as far as the window already allows; who takes longer or
// sends more is told to stop, by RST_STREAM with NO_ERROR (RFC 9113 section 8.1).
// Told at once, some clients, curl 7 among them, meet the reset while they still
// write and lose the answer that came before it.

// rest is what may still come of a request that was answered.
type rest struct {
	stream uint32 // 0 when there is none
	left   int32  // bytes the client may send without having heard of us
	old    bool   // Tick has seen it
}

// waive lets a client finish a request that was answered. Of many at once the
// oldest is told to stop.
func (c *Conn) waive(s *Stream) {
	c.remember(s.id, true)
	r := &c.rests[c.restAt%uint8(len(c.rests))]
	c.restAt++
	c.stop(r)
	if *r = (rest{stream: s.id, left: s.recvWindow}); r.left <= 0 {
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

// dropData takes a frame of a request that was answered, and reports whether it
// is one.
func (c *Conn) dropData(h header) bool {
	r := c.waived(h.stream)
	if r == nil {
		return false
	}
	if r.left -= int32(h.length); h.flags&flagEndStream != 0 {
		*r = rest{}
	} else if r.left <= 0 {
		c.stop(r)
	}
	return true
}
