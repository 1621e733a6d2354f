package loop

import (
	"syscall"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
)

// watch makes the poller report what can be read, from what is there now on. An
// accepted connection is watched from the first time it has to wait for its
// client: one that is served and closed at once never is, which saves it a
// system call and an event. It is not asked for room to write until it needs
// some (watchRoom): there is some at once, which would be an event for nothing.
func (c *Conn) watch() error {
	if c.flags&flagWatched != 0 {
		return nil
	}
	pa := netpoll.PollAttachment{FD: int(c.fd)}
	if err := c.loop.poller.AddRead(&pa, true); err != nil {
		return c.unwatched(err)
	}
	c.watched()
	return nil
}

// Watched reports whether what the peer does next is an event: what it did before
// the connection was watched is one then.
func (c *Conn) Watched() bool { return c.flags&flagWatched != 0 }

// watchRoom is watch for both directions: something waits to be written.
func (c *Conn) watchRoom() error {
	if c.flags&flagRoom != 0 {
		return nil
	}
	pa, known := netpoll.PollAttachment{FD: int(c.fd)}, c.flags&flagWatched != 0
	add := c.loop.poller.AddReadWrite
	if known {
		add = c.loop.poller.ModReadWrite
	}
	if err := add(&pa, true); err != nil {
		return c.unwatched(err)
	}
	c.flags |= flagRoom
	if !known {
		c.watched()
	}
	return nil
}

// unwatched gives up a connection of which nothing would be heard.
func (c *Conn) unwatched(err error) error {
	c.err = syscall.ENOMEM
	c.flags |= flagBroken
	c.SetDeadline(c.loop.Now())
	return err
}

// watched notes that the poller reports what the socket holds.
func (c *Conn) watched() {
	if c.secure == nil {
		c.flags &^= flagReadable // else there may be plaintext
	}
	c.flags = c.flags&^flagWet | flagWatched
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
