package loop_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/loop"
)

// Events of a closed connection may reach the connection that has its descriptor now.
func TestStaleEventsDoNotEndReusedDescriptors(t *testing.T) {
	l := start(t)
	said := make(chan [2]bool, 1)
	conns := pair(t, l, func(_ int, c *loop.Conn) {
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			_, err := c.Read(l.In)
			if c.Ending() { // not yet when it is accepted
				said <- [2]bool{c.Ending(), c.Ended()}
			}
			if err != loop.ErrDry {
				c.Close()
			}
		}})
		l.Post(func() { c.Event(unix.EPOLLIN | unix.EPOLLRDHUP) })
	})
	for range conns {
		if got := <-said; got != [2]bool{true, false} {
			t.Errorf("while it is open: Ending and Ended are %v", got)
		}
	}
	for _, c := range conns {
		_ = c.CloseWrite()
		if got := <-said; got != [2]bool{true, true} {
			t.Errorf("when it has ended: Ending and Ended are %v", got)
		}
	}
}
