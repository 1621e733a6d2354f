package loop

import (
	"syscall"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
)

// watch makes the poller report the connection, from what it is ready for now
// on. An accepted connection is watched from the first time it has to wait for
// its client: one that is served and closed at once never is, which saves it a
// system call and an event.
func (c *Conn) watch() error {
	if c.flags&flagWatched != 0 {
		return nil
	}
	pa := netpoll.PollAttachment{FD: int(c.fd)}
	if err := c.loop.poller.AddReadWrite(&pa, true); err != nil {
		c.err = syscall.ENOMEM
		c.flags |= flagBroken
		c.SetDeadline(c.loop.now)
		return err
	}
	if c.secure == nil {
		c.flags &^= flagReadable // else there may be plaintext
	}
	c.flags = c.flags&^flagWet | flagWatched
	return nil
}

// Wait says that the handler has read enough for now and wants Readable when
// there is more, at once if there is some already.
func (c *Conn) Wait() {
	switch {
	case c.flags&flagWatched == 0:
		if c.watch() == nil && c.secure != nil && c.flags&flagReadable != 0 {
			c.loop.Again(c)
		}
	case c.flags&flagReadable != 0:
		c.loop.Again(c)
	}
}

// dry is what Read reports when there is nothing now; from then on the poller
// tells when there is.
func (c *Conn) dry() error {
	if c.watch() != nil {
		return c.err
	}
	return ErrDry
}
