package loop

import (
	"time"

	"golang.org/x/sys/unix"
)

// Ending reports whether the peer has ended its direction or reset the connection. Read
// distinguishes the two after all earlier bytes have been read.
func (c *Conn) Ending() bool { return c.flags&flagEnding != 0 }

// Ended is Ending verified by a system call. The event behind Ending may have belonged
// to an earlier connection with the same descriptor.
func (c *Conn) Ended() bool {
	if c.flags&flagEnding != 0 && !c.polled(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) {
		c.flags &^= flagEnding
	}
	return c.flags&flagEnding != 0
}

// Broken reports whether both directions ended or the connection was reset. Bytes
// written to it do not arrive.
func (c *Conn) Broken() bool {
	if c.flags&(flagHup|flagBroken) == flagHup {
		c.flags &^= flagHup
		if c.polled(unix.POLLHUP | unix.POLLERR) { // see Ended

			c.flags |= flagBroken
		}
	}
	return c.flags&flagBroken != 0
}

// Departed asks the kernel whether the peer has ended its direction or reset the connection.
// The loop may not have that event yet.
func (c *Conn) Departed() bool { return c.polled(unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR) }

// polled asks the kernel whether any of events holds.
func (c *Conn) polled(events int16) bool {
	p := c.loop.poll[:]
	p[0] = unix.PollFd{Fd: c.fd, Events: events}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&events != 0
}

// Taking reports whether bytes wait for the peer, and for how long (nanoseconds) the
// peer has accepted none. While the kernel's buffer has room, or while it stays full,
// no event shows this. A peer that is unreachable or has a zero window accepts nothing.
// Each call costs a system call (TCP_INFO).
func (c *Conn) Taking() (since int64, waiting bool) {
	info, err := unix.GetsockoptTCPInfo(int(c.fd), unix.SOL_TCP, unix.TCP_INFO)
	if err != nil || info.Unacked == 0 && info.Notsent_bytes == 0 && c.Pending() == 0 {
		return 0, false
	}
	return int64(max(info.Last_data_sent, info.Last_ack_recv)) * int64(time.Millisecond), true
}

// discardPerTurn bounds the reads of one lingering connection per turn.
const discardPerTurn = 4

// CloseWrite ends this side's direction after all pending bytes have been sent. The
// other direction stays open.
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

// Linger sends pending bytes, ends this side's direction and discards further input. It
// closes the connection when the peer ends its direction or after nanos nanoseconds.
// Closing at once would send a reset in response to late bytes. That could destroy the
// last response before the peer has read it. The handler receives no more events of c.
func (c *Conn) Linger(nanos int64) { c.linger(nanos, 0) }

// LingerActive is Linger for a peer that may still send a large body. Each time bytes arrive
// it has nanos more, up to most in total. This holds for lingersMost connections of a loop at
// once, so that endless peers hold few connections.
func (c *Conn) LingerActive(nanos, most int64) {
	l := c.loop
	if c.flags&(flagClosed|flagLinger) == 0 && len(l.lingers) < lingersMost {
		if l.lingers == nil {
			l.lingers = map[*Conn]lingering{}
		}
		l.lingers[c] = lingering{renew: nanos, end: l.Now() + most}
	}
	c.linger(nanos, 0)
}

// MayLinger reports whether a refused client may linger: LingerActive can give time to at least
// half of its connections. The other half is kept for the clients that are served.
func (l *Loop) MayLinger() bool { return len(l.lingers) < lingersMost/2 }

// lingersMost bounds the connections of a loop that LingerActive gives more time.
const lingersMost = 1024

// lingering is the time of a connection of LingerActive.
type lingering struct{ renew, end int64 }

// lingerOn renews the deadline of a lingering connection after bytes arrived.
func (c *Conn) lingerOn() {
	if on, ok := c.loop.lingers[c]; ok {
		c.SetDeadline(min(c.loop.Now()+on.renew, on.end))
	}
}

// LingerUnread is Linger for a peer that may send without end, e.g. a flood. Input
// stays in the socket, so the peer blocks once the receive buffer is full and costs
// nothing more. The peer has time to read the last response before the reset.
func (c *Conn) LingerUnread(nanos int64) { c.linger(nanos, flagUnread) }

func (c *Conn) linger(nanos int64, unread flags) {
	if c.flags&flagClosed != 0 {
		return
	}
	if c.secure != nil && c.secure.shake != nil {
		c.Close() // the peer had nothing to read
		return
	}
	c.flags |= flagLinger | unread
	c.handler = nil
	c.CloseWrite()
	if c.secure != nil {
		c.unsecure() // further input is discarded undecrypted
	}
	c.SetDeadline(c.loop.Now() + nanos)
	if c.watch() == nil && c.flags&flagReadable != 0 {
		c.discard()
	}
}

// discard reads and drops the input of a lingering connection.
func (c *Conn) discard() {
	if c.flags&flagUnread != 0 {
		if c.flags&flagEnding != 0 {
			c.Close() // the peer has ended its direction, too
		}
		return
	}
	for i := range discardPerTurn {
		switch _, err := c.Read(c.loop.In); err {
		case nil:
			if i == 0 {
				c.lingerOn()
			}
		case ErrDry:
			return
		default:
			c.Close()
			return
		}
	}
	c.loop.Again(c)
}

// Close closes the connection at once; pending bytes are lost. A second call has no
// effect. The Conn may still be inspected until the current event ends. The loop then
// reuses it, so the owner must drop its reference.
func (c *Conn) Close() {
	if c.flags&flagClosed != 0 {
		return
	}
	l := c.loop
	if c.flags&flagLinger != 0 {
		delete(l.lingers, c)
	}
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

// Abort closes the connection with a reset, so that the peer does not take the end for
// a complete response.
func (c *Conn) Abort() {
	if c.flags&flagClosed != 0 {
		return
	}
	if c.secure != nil {
		c.secure.notified = true // no close_notify: the response is incomplete
	}
	_ = unix.SetsockoptLinger(int(c.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	c.Close()
}
