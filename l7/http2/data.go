package http2

// incoming is a DATA frame whose payload has not arrived completely.
type incoming struct {
	stream uint32 // 0 to discard the payload
	left   int    // outstanding bytes of the payload, including padding
	pad    int    // bytes of padding at the end
	end    bool
}

// run holds data of one stream, merged from consecutive frames, so that many small frames of
// a peer do not cause as many writes.
type run struct {
	stream *Stream // nil when there is none
	bytes  []byte  // part of Receive's argument
	end    bool
}

// onData handles the head of a DATA frame. p holds only the padding length. All errors of
// the frame are detected here.
func (c *Conn) onData(h header, p []byte) *Error {
	if h.stream == 0 {
		return ErrFrameStream
	}
	c.data = incoming{stream: h.stream, left: h.length, end: h.flags&flagEndStream != 0}
	if h.flags&flagPadded != 0 {
		if h.length == 0 {
			return ErrFrameLength
		}
		c.data.pad = int(p[0])
		c.data.left--
		if c.data.pad > c.data.left {
			return ErrPadding
		}
	}
	if int(c.recvWindow) < h.length {
		return ErrWindow
	}
	c.recvWindow -= int32(h.length)
	body := c.data.left - c.data.pad
	c.credit(int32(h.length - c.data.left)) // the rest is credited as it arrives
	s := c.find(h.stream)
	if s == nil || s.state&peerEnded != 0 {
		c.data.stream = 0
		return c.strayData(h, s, body)
	}
	if why := s.checkData(h, body); why != nil {
		c.run, c.data.stream = run{}, 0
		c.offend(s, why)
		return nil
	}
	s.recvWindow -= int32(h.length)
	s.credit(int32(h.length - body))
	if c.data.left == 0 && c.data.end {
		c.gather(s, nil)
	}
	if body == 0 && !c.data.end {
		return c.spend(costEmpty, ErrEmptyFlood)
	}
	return nil
}

// checkData returns the error in n bytes of data, if any.
func (s *Stream) checkData(h header, n int) *Error {
	switch {
	case s.state&headed == 0:
		return ErrHeadMissing
	case n > 0 && s.state&noBody != 0:
		return ErrBody
	case int(s.recvWindow) < h.length:
		return ErrWindow
	case s.state&counted == 0:
		return nil
	}
	if s.length -= int64(n); s.length < 0 || h.flags&flagEndStream != 0 && s.length > 0 {
		return ErrLengthData
	}
	return nil
}

// strayData handles n bytes of data for a stream that accepts none.
func (c *Conn) strayData(h header, s *Stream, n int) *Error {
	switch {
	case s != nil:
		c.offend(s, ErrClosed)
		return nil
	case c.idle(h.stream):
		return ErrIdle
	case !c.client && h.stream > c.peerLast:
		return c.spend(costFrame, ErrClosedFlood) // the request is beyond our GOAWAY
	case c.dropData(h, n):
		return c.spend(costFrame, ErrClosedFlood)
	}
	if _, ours := c.recall(h.stream); !ours {
		c.sh.counts[ErrClosed.index]++
		c.reset(h.stream, CodeStreamClosed)
	}
	return c.spend(costFrame, ErrClosedFlood)
}

// moreData consumes payload of a DATA frame and returns the rest of p.
func (c *Conn) moreData(p []byte) []byte {
	d := &c.data
	n := min(len(p), d.left)
	body := max(0, min(n, d.left-d.pad))
	d.left -= n
	s := (*Stream)(nil)
	if d.stream != 0 {
		s = c.find(d.stream)
	}
	if s == nil {
		c.credit(int32(n))
		return p[n:]
	}
	c.credit(int32(n - body))
	if body > 0 {
		s.held += int32(body)
		c.gather(s, p[:body])
	}
	if d.left == 0 && d.end {
		c.gather(s, nil)
	}
	return p[n:]
}

// gather adds bytes to the run of s; nil marks the end.
func (c *Conn) gather(s *Stream, p []byte) {
	r := &c.run
	if r.stream != s {
		c.deliver()
		if s.state&open == 0 {
			return
		}
		r.stream = s
	}
	switch {
	case p == nil:
		r.end = true
		c.deliver()
	case r.bytes == nil:
		r.bytes = p
	default:
		// Frame headers lie between the parts. Closing the gap moves bytes down.
		n := len(r.bytes)
		r.bytes = r.bytes[:n+copy(r.bytes[n:n+len(p)], p)]
	}
}

// deliver passes the run to the owner of its stream.
func (c *Conn) deliver() {
	s, p, end := c.run.stream, c.run.bytes, c.run.end
	c.run = run{}
	if s == nil || s.state&open == 0 {
		return
	}
	if end {
		c.peerEnd(s)
	}
	c.handler.Data(s, p, end)
}
