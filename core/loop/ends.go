package loop

import (
	"time"

	"golang.org/x/sys/unix"
)

// Ending reports whether the peer has ended a direction or reset the
// connection; Read tells which once the bytes before it are read.
func (c *Conn) Ending() bool { return c.flags&flagEnding != 0 }

// Ended is Ending for certain, which is a question to the kernel: the event that
// said so may be about an earlier connection with the same descriptor.
func (c *Conn) Ended() bool {
	if c.flags&flagEnding != 0 && !c.polled(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) {
		c.flags &^= flagEnding
	}
	return c.flags&flagEnding != 0
}

// Broken reports whether both directions ended or the connection was reset:
// nothing written to it arrives.
func (c *Conn) Broken() bool {
	if c.flags&(flagHup|flagBroken) == flagHup {
		c.flags &^= flagHup
		if c.polled(unix.POLLHUP | unix.POLLERR) { // see Ended

			c.flags |= flagBroken
		}
	}
	return c.flags&flagBroken != 0
}

// polled asks the kernel whether one of these events holds.
func (c *Conn) polled(events int16) bool {
	p := c.loop.poll[:]
	p[0] = unix.PollFd{Fd: c.fd, Events: events}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&events != 0
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

// discardPerTurn bounds what one lingering connection may take of a turn.
const discardPerTurn = 4

// CloseWrite ends this side's direction after everything pending was sent.
// The other direction stays open.
func (c *Conn) CloseWrite() {
	if c.flags&(flagClosed|flagShutdown|flagHungUp) != 0 {
		return
	}
	if c.secure != nil && c.secure.shake == nil {
		c.secure.sealEnd()
		_ = c.push(unix.MSG_MORE) // the FIN follows
	}
	if c.Pending() != 0 || c.flags&(flagConnecting|flagHandshake) != 0 {
		c.flags |= flagShutdown
		return
	}
	c.hangUp()
}

func (c *Conn) hangUp() {
	c.flags = c.flags&^flagShutdown | flagHungUp
	sysShutdown(int(c.fd), unix.SHUT_WR)
}

// Linger sends what is pending, ends this side's direction and throws away
// what still arrives, until the peer ends too or the time (nanoseconds) is
// up. Closing at once instead would answer late bytes with a reset, which may
// destroy the last answer before the peer read it. The handler hears nothing
// of c any more.
func (c *Conn) Linger(nanos int64) { c.linger(nanos, 0) }

// LingerUnread is Linger for a peer that may send without end, e.g. a flood: what
// arrives stays in the socket, so the peer is held up as soon as that is full and costs
// nothing more. The peer has the time to read the last answer before it is reset.
func (c *Conn) LingerUnread(nanos int64) { c.linger(nanos, flagUnread) }

func (c *Conn) linger(nanos int64, unread flags) {
	if c.flags&flagClosed != 0 {
		return
	}
	if c.secure != nil && c.secure.shake != nil {
		c.Close() // there was nothing to read for the peer
		return
	}
	c.flags |= flagLinger | unread
	c.handler = nil
	c.CloseWrite()
	if c.secure != nil {
		c.unsecure() // what still comes is thrown away as it is
	}
	c.SetDeadline(c.loop.Now() + nanos)
	if c.watch() == nil && c.flags&flagReadable != 0 {
		c.discard()
	}
}

// discard throws away what arrives on a connection that lingers.
func (c *Conn) discard() {
	if c.flags&flagUnread != 0 {
		if c.flags&flagEnding != 0 {
			c.Close() // the peer has ended, too
		}
		return
	}
	for range discardPerTurn {
		switch _, err := c.Read(c.loop.In); err {
		case nil:
		case ErrDry:
			return
		default:
			c.Close()
			return
		}
	}
	c.loop.Again(c)
}

// Close closes the connection at once; pending bytes are lost. Closing twice
// is fine. The Conn may be looked at until the current event ends; then the
// loop uses it for another connection, so its owner lets go of it.
func (c *Conn) Close() {
	if c.flags&flagClosed != 0 {
		return
	}
	l := c.loop
	c.flags = c.flags&^flagAgain | flagClosed
	l.wheel.drop(&c.timer)
	if c.secure != nil {
		c.secure.bye()
		c.secure = nil
	}
	c.release()
	l.conns[c.fd] = nil
	sysClose(int(c.fd))
	descriptors.conns.Add(-1)
	l.values.Put(c)
}

// Abort closes the connection with a reset, so that the peer cannot take the
// end for a complete answer.
func (c *Conn) Abort() {
	if c.flags&flagClosed != 0 {
		return
	}
	if c.secure != nil {
		c.secure.notified = true // it must not pass for a whole answer
	}
	_ = unix.SetsockoptLinger(int(c.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	c.Close()
}
