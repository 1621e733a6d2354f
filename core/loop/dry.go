package loop

import (
	"net/netip"
	"time"
)

// Dry returns a loop that runs nothing and has no descriptors: buffers, and a
// clock that stands at this moment. With Imagine it lets what was written for
// events of connections be called without any.
func Dry() *Loop { return &Loop{base: time.Now()} }

// Imagine returns a connection of a dry loop, of no socket: all it can do is
// tell its peer, whether it is secured, and then the name it was asked for.
func (l *Loop) Imagine(peer netip.AddrPort, secure bool, name string) *Conn {
	c := &Conn{loop: l, peer: peer, fd: -1}
	if secure {
		c.secure = &secured{agreed: TLS{ServerName: name}}
	}
	return c
}
