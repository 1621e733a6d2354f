package loop

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Write sends p, keeping a copy of what the kernel does not take now; the
// caller may reuse p at once. It fails only when the connection is broken.
func (c *Conn) Write(p []byte) error {
	if c.secure != nil {
		return c.secure.write(p, false)
	}
	return c.send(p, 0)
}

// WriteMore is Write for a part that is followed by another at once: the
// kernel may hold it back to fill a segment. A secure connection holds it back
// until the next Write, CloseWrite, Linger or Close, of which one must follow
// before the event is over.
func (c *Conn) WriteMore(p []byte) error {
	if c.secure != nil {
		return c.secure.write(p, true)
	}
	return c.send(p, unix.MSG_MORE)
}

// Push sends what the kernel holds back after WriteMore of a plain connection
// when nothing follows after all.
func (c *Conn) Push() {
	// Setting it, even to what it is, sends what was collected (tcp(7)).
	_ = unix.SetsockoptInt(int(c.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

func (c *Conn) send(p []byte, flags int) error {
	if len(c.out) != 0 || c.pipe != nil || c.flags&flagConnecting != 0 {
		c.keep(p)
		return nil
	}
	for len(p) > 0 {
		n, errno := sysSend(int(c.fd), p, flags)
		switch {
		case errno == 0:
			// A short write means the socket is full: the event comes when it
			// has room, trying again now would only cost an EAGAIN.
			if p = p[n:]; len(p) > 0 {
				c.keep(p)
			}
			return nil
		case errno == syscall.EAGAIN:
			c.keep(p)
			return nil
		case errno == syscall.EINTR:
		default:
			c.err = errno // the kernel reports it once; Read must not take the end for an orderly one
			return errno
		}
	}
	return nil
}

func (c *Conn) keep(p []byte) {
	if c.sent > 0 && len(c.out) == c.sent {
		c.out, c.sent = c.out[:0], 0
	}
	c.out = append(c.loop.Buffers.Grow(c.out, len(p)), p...)
	_ = c.watchRoom()
}

// Pending is how many bytes handed to Write have not left yet.
func (c *Conn) Pending() int {
	if c.pipe != nil {
		return len(c.out) - c.sent + c.pipe.held
	}
	return len(c.out) - c.sent
}

// flush sends what is pending and tells the handler when all of it left.
func (c *Conn) flush() {
	if c.pipe != nil {
		switch errno := c.drain(); errno {
		case 0:
		case syscall.EAGAIN:
			return
		default:
			c.broke(errno)
			return
		}
	}
	for c.sent < len(c.out) {
		n, errno := sysSend(int(c.fd), c.out[c.sent:], 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno == syscall.EAGAIN {
			return
		}
		if errno != 0 {
			c.broke(errno)
			return
		}
		c.sent += n
	}
	c.release()
	if c.flags&flagHandshake != 0 {
		return // the handler has written nothing yet
	}
	if c.flags&flagShutdown != 0 {
		c.hangUp()
	}
	if c.flags&flagLinger == 0 {
		c.handler.Drained(c)
	}
}

func (c *Conn) release() {
	c.releasePipe()
	if c.out != nil {
		c.loop.Buffers.Put(c.out)
		c.out, c.sent = nil, 0
	}
}

// broke gives up what is pending after the peer refused it. What the peer had
// sent before may still be read, and often is its reason; Read ends with err.
func (c *Conn) broke(err syscall.Errno) {
	c.release()
	c.err = err
	c.flags |= flagBroken | flagReadable | flagWet | flagEnding
}

// Taking reports whether bytes wait for the peer, and how long ago (nanoseconds)
// it took some last: as long as there is room in the kernel, and as long as it
// has none, nobody hears of that. A peer that is gone or has no room takes none,
// though the kernel tries. It is a question to the kernel.
func (c *Conn) Taking() (since int64, waiting bool) {
	info, err := unix.GetsockoptTCPInfo(int(c.fd), unix.SOL_TCP, unix.TCP_INFO)
	if err != nil || info.Unacked == 0 && info.Notsent_bytes == 0 && c.Pending() == 0 {
		return 0, false
	}
	return int64(max(info.Last_data_sent, info.Last_ack_recv)) * int64(time.Millisecond), true
}
