package http2

import "encoding/binary"

// onSettings handles SETTINGS (RFC 9113 section 6.5).
func (c *Conn) onSettings(h header, p []byte) *Error {
	switch {
	case h.stream != 0:
		return ErrFrameStream
	case h.flags&flagAck != 0 && h.length != 0, h.length%6 != 0:
		return ErrFrameLength
	case h.flags&flagAck != 0:
		return c.spend(costFrame, ErrSettingsFlood)
	}
	c.hasSettings = true
	if why := c.spend(costSettings+int32(len(p)/64), ErrSettingsFlood); why != nil {
		return why
	}
	window := c.peerWindow
	for ; len(p) > 0; p = p[6:] {
		v := binary.BigEndian.Uint32(p[2:])
		if why := c.setting(binary.BigEndian.Uint16(p), v, &window); why != nil {
			return why
		}
	}
	c.controlFrame(0, frameSettings, flagAck, 0)
	return c.rewindow(window)
}

// setting applies one setting of the peer. The window is applied once per frame, because a
// frame has room for 2,730 settings and each change affects all streams.
func (c *Conn) setting(id uint16, v uint32, window *int32) *Error {
	switch id {
	case settingTableSize:
		c.enc.resize(v)
	case settingPush:
		if v > 1 || c.client && v != 0 {
			return ErrSettings
		}
	case settingStreams:
		c.peerStreams = v
	case settingWindow:
		if v > maxWindow {
			return ErrSettingsWindow
		}
		*window = int32(v)
	case settingFrameSize:
		if v < maxFrame || v > 1<<24-1 {
			return ErrSettings
		}
	case settingConnectProtocol, settingNoPriorities:
		if v > 1 {
			return ErrSettings
		}
		if id == settingConnectProtocol {
			c.tunnels = v == 1
		}
	}
	return nil
}

// rewindow adjusts the windows of all streams by the difference (section 6.9.2).
func (c *Conn) rewindow(window int32) *Error {
	delta := int64(window) - int64(c.peerWindow)
	if delta == 0 {
		return nil
	}
	c.peerWindow = window
	for _, s := range c.table {
		for ; s != nil; s = s.chain {
			w := int64(s.sendWindow) + delta
			if w > maxWindow {
				return ErrSettingsWindow
			}
			s.sendWindow = int32(w)
			c.opened(s)
		}
	}
	return nil
}

// onWindowUpdate handles WINDOW_UPDATE (section 6.9).
func (c *Conn) onWindowUpdate(h header, p []byte) *Error {
	if h.length != 4 {
		return ErrFrameLength
	}
	n := int64(binary.BigEndian.Uint32(p) & (1<<31 - 1))
	if h.stream == 0 {
		return c.widen(n)
	}
	s := c.find(h.stream)
	switch {
	case s == nil && c.idle(h.stream):
		return ErrIdle
	case s == nil:
		c.updateClosed(h.stream, n)
	case n == 0:
		c.offend(s, ErrIncrement)
	case int64(s.sendWindow)+n > maxWindow:
		c.offend(s, ErrWindowOverflow)
	default:
		s.sendWindow += int32(n)
		c.opened(s)
	}
	return c.spend(costFrame, ErrUpdateFlood)
}

// widen enlarges the connection window.
func (c *Conn) widen(n int64) *Error {
	switch {
	case n == 0:
		return ErrIncrement
	case int64(c.sendWindow)+n > maxWindow:
		return ErrWindowOverflow
	}
	c.sendWindow += int32(n)
	c.again = c.again || c.waiting.Len() > 0
	return c.spend(costFrame, ErrUpdateFlood)
}

// onRSTStream handles RST_STREAM (section 6.4).
func (c *Conn) onRSTStream(h header, p []byte) *Error {
	switch {
	case h.stream == 0:
		return ErrFrameStream
	case h.length != 4:
		return ErrFrameLength
	}
	s := c.find(h.stream)
	switch {
	case s == nil && c.idle(h.stream):
		return ErrIdle
	case s == nil:
		if r := c.waived(h.stream); r != nil {
			c.over(r, nil)
		}
		return c.spend(costFrame, ErrClosedFlood)
	}
	code := Code(binary.BigEndian.Uint32(p))
	if c.client && code == CodeRefusedStream {
		s.state |= unprocessed
	}
	early := s.state&weEnded == 0
	c.remember(s.id, false)
	c.remove(s)
	c.handler.Reset(s, code, nil)
	switch {
	case c.client, !early:
		return c.spend(costFrame, ErrClosedFlood)
	case !c.resets.take(costReset, c.sh.now):
		return ErrRapidReset
	}
	return nil
}

// onPing handles PING (section 6.7).
func (c *Conn) onPing(h header, p []byte) *Error {
	switch {
	case h.stream != 0:
		return ErrFrameStream
	case h.length != 8:
		return ErrFrameLength
	case h.flags&flagAck != 0:
		if c.leaving == leftAnnounced {
			c.Finish()
		}
		return c.spend(costFrame, ErrPingFlood)
	}
	c.controlFrame(8, framePing, flagAck, 0)
	c.out = append(c.out, p...)
	return c.spend(costPing, ErrPingFlood)
}

// onPriority handles PRIORITY, which is obsolete (section 6.3).
func (c *Conn) onPriority(h header, p []byte) *Error {
	why := (*Error)(nil)
	switch {
	case h.stream == 0:
		return ErrFrameStream
	case h.length != 5:
		why = ErrFrameLength
	case dependency(p) == h.stream:
		why = ErrDependency
	}
	if why != nil {
		switch s := c.find(h.stream); {
		case s != nil:
			c.offend(s, why)
		case c.idle(h.stream):
			return why
		default:
			c.refuse(h.stream, why)
		}
	}
	return c.spend(costFrame, ErrPriorityFlood)
}

// dependency returns the stream that a priority depends on.
func dependency(p []byte) uint32 { return binary.BigEndian.Uint32(p) & (1<<31 - 1) }

// onGoAway handles GOAWAY (section 6.8).
func (c *Conn) onGoAway(h header, p []byte) *Error {
	switch {
	case h.stream != 0:
		return ErrFrameStream
	case h.length < 8:
		return ErrFrameLength
	}
	last := binary.BigEndian.Uint32(p) & (1<<31 - 1)
	code := Code(binary.BigEndian.Uint32(p[4:]))
	if c.client {
		if c.gone && last > c.goneLast {
			return ErrGoAway
		}
		c.gone, c.goneLast = true, last
		c.abandon(last)
	}
	c.handler.GoingAway(code)
	return c.spend(costSettings, ErrSettingsFlood)
}

// abandon resets the streams that the backend will not process.
func (c *Conn) abandon(last uint32) {
	for again := true; again; {
		again = false
		for _, s := range c.table {
			for s != nil && s.id <= last {
				s = s.chain
			}
			if s != nil {
				again = true // the table may have been replaced
				s.state |= unprocessed
				c.remove(s)
				c.handler.Reset(s, CodeRefusedStream, nil)
				break
			}
		}
	}
}
