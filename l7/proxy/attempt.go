package proxy

import (
	"net"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
)

// connect tries whether a connection as exchanges have it can be made: from
// the same source, with the same mark.
func (p *prober) connect(to dial.Target) error {
	if to.Options.Mark != 0 {
		return p.connectMarked(to)
	}
	d := net.Dialer{Timeout: time.Duration(to.Timeout)}
	if source := to.Options.Source; source.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
	}
	conn, err := d.DialContext(p.ctx, "tcp", to.Addr.String())
	if err == nil {
		_, _ = conn.Write(announcement(to.Announce)) // a backend that wants one would report its lack; it fits any buffer
		_ = conn.Close()
	}
	return err
}

// connectMarked connects on a loop: the sockets that have the mark are the
// loops'.
func (p *prober) connectMarked(to dial.Target) error {
	a := &attempt{hello: announcement(to.Announce), outcome: make(chan error, 1)}
	l := p.engine.workers[int(to.ID)%len(p.engine.workers)].loop
	l.Post(func() {
		if _, err := l.Dial(to.Addr, a, to.Timeout, to.Options); err != nil {
			a.outcome <- err
		}
	})
	select {
	case err := <-a.outcome:
		return err
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// attempt is a connection that is given up as soon as it stands.
type attempt struct {
	hello   []byte // what it begins with; nil for nothing
	outcome chan error
}

// Connected implements loop.Handler.
func (a *attempt) Connected(c *loop.Conn, err error) {
	if err == nil {
		if len(a.hello) > 0 {
			_ = c.Write(a.hello)
		}
		c.Close()
	}
	a.outcome <- err
}

// The rest of loop.Handler: nothing happens to it after Close.
func (a *attempt) Readable(*loop.Conn)      {}
func (a *attempt) Drained(*loop.Conn)       {}
func (a *attempt) Expired(*loop.Conn)       {}
func (a *attempt) Failed(*loop.Conn, error) {}
