package http2

// Receive processes received bytes. It consumes all of p and may modify it, because
// consecutive data frames of a stream are merged. An error (*Error) ends the connection: the
// owner writes Output and closes the socket. Calls must not be nested, not even for
// different connections of one Shared.
func (c *Conn) Receive(p []byte) error {
	c.sh.wake()
	if c.err == nil {
		c.receive(p)
	}
	if c.err == nil && c.again {
		c.pump()
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

func (c *Conn) receive(p []byte) {
	if int(c.greeting) < len(preface) {
		if p = c.greet(p); c.err != nil {
			return
		}
	}
	if len(c.in) > 0 {
		p = c.complete(p)
	}
	for len(p) > 0 && c.err == nil {
		if c.data.left > 0 {
			p = c.moreData(p)
			continue
		}
		n := c.whole(p)
		if n > len(p) {
			c.in = append(c.sh.buffers.Grow(c.in, len(p)), p...)
			break
		}
		c.more = len(p) > n
		c.frame(p[:n])
		p = p[n:]
	}
	c.more = false
	c.deliver()
}

// greet checks the preface of a client.
func (c *Conn) greet(p []byte) []byte {
	for len(p) > 0 && int(c.greeting) < len(preface) {
		if p[0] != preface[c.greeting] {
			c.fail(ErrPreface)
			return nil
		}
		c.greeting++
		p = p[1:]
	}
	return p
}

// whole returns how many bytes of the frame at the start of p are needed to process it: all,
// or only the header for DATA. It is greater than len(p) while undecided.
func (c *Conn) whole(p []byte) int {
	if len(p) < frameHeader {
		return frameHeader
	}
	h := parseHeader(p)
	switch {
	case h.length > maxFrame:
		return frameHeader // frame will refuse it
	case h.kind != frameData:
		return frameHeader + h.length
	case h.flags&flagPadded != 0 && h.length > 0:
		return frameHeader + 1
	}
	return frameHeader
}

// complete continues a frame whose beginning arrived earlier. It stores only received bytes,
// because the length may be a lie.
func (c *Conn) complete(p []byte) []byte {
	n := c.whole(c.in)
	for len(c.in) < n {
		k := min(n-len(c.in), len(p))
		if k == 0 {
			return nil
		}
		c.in = append(c.sh.buffers.Grow(c.in, k), p[:k]...)
		p = p[k:]
		n = c.whole(c.in)
	}
	b := c.in
	c.in = nil // the handler may close the connection meanwhile
	c.more = len(p) > 0
	c.frame(b)
	c.sh.buffers.Put(b)
	return p
}

// frame processes a complete frame, or the header of DATA.
func (c *Conn) frame(b []byte) {
	h := parseHeader(b)
	c.frames++
	if c.run.stream != nil && (h.kind != frameData || h.stream != c.run.stream.id) {
		c.deliver()
		if c.err != nil {
			return
		}
	}
	why := c.check(h)
	if why == nil {
		why = c.dispatch(h, b[frameHeader:])
	}
	if why == nil && c.control > c.sh.limits.Control {
		why = ErrNotReading
	}
	if why != nil {
		c.fail(why)
	}
}

// check checks a frame regardless of its type.
func (c *Conn) check(h header) *Error {
	switch {
	case h.length > maxFrame:
		return ErrFrameSize
	case !c.hasSettings && (h.kind != frameSettings || h.flags&flagAck != 0):
		return ErrNoSettings
	case c.block.stream != 0 && (h.kind != frameContinuation || h.stream != c.block.stream):
		return ErrContinuation
	}
	return nil
}

// dispatch passes the payload of a frame to the function for its type.
func (c *Conn) dispatch(h header, p []byte) *Error {
	switch h.kind {
	case frameData:
		return c.onData(h, p)
	case frameHeaders:
		return c.onHeaders(h, p)
	case frameContinuation:
		return c.onContinuation(h, p)
	case frameWindowUpdate:
		return c.onWindowUpdate(h, p)
	case frameRSTStream:
		return c.onRSTStream(h, p)
	case frameSettings:
		return c.onSettings(h, p)
	case framePing:
		return c.onPing(h, p)
	case framePriority:
		return c.onPriority(h, p)
	case frameGoAway:
		return c.onGoAway(h, p)
	case framePushPromise:
		return ErrPush
	}
	return c.spend(costFrame, ErrUnknownFlood)
}

// spend pays for a frame without useful work.
func (c *Conn) spend(cost int32, flood *Error) *Error {
	if c.noise.take(cost, c.sh.now) {
		return nil
	}
	return flood
}

// idle reports whether a stream was never opened. After our final GOAWAY this is unknown for
// later streams, whose frames are ignored.
func (c *Conn) idle(id uint32) bool {
	if id&1 == 1 == c.client { // opened by this side
		return id >= c.nextID
	}
	return id > c.peerLast && (c.leaving != leftFinal || id&1 == 0)
}
