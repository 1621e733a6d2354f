package loop

import (
	"golang.org/x/sys/unix"
)

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
func (c *Conn) Linger(nanos int64) {
	if c.flags&flagClosed != 0 {
		return
	}
	if c.secure != nil && c.secure.shake != nil {
		c.Close() // there was nothing to read for the peer
		return
	}
	c.flags |= flagLinger
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

func (c *Conn) discard() {
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
