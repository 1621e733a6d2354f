package revive

import (
	"github.com/sluicelb/sluice/core/loop"
)

// connect tries to connect once, on a loop.
func (p *Prober) connect(b *Backend) error {
	if b.Blind {
		return nil
	}
	a := &attempt{outcome: make(chan error, 1)}
	options := b.Options
	if options.Security.Config == nil { // with TLS the preface precedes the handshake
		a.hello, options.Preface = options.Preface, nil // otherwise it would wait for the first write
	}
	l := p.loops[int(b.ID)%len(p.loops)]
	l.Post(func() {
		if _, err := l.Dial(b.Addr, a, int64(b.Timeout), options); err != nil {
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

// attempt closes its connection once established.
type attempt struct {
	hello   []byte // the preface, sent before the close: a backend that expects one would log its absence
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

// The other methods of loop.Handler are not called after Close.
func (a *attempt) Readable(*loop.Conn)      {}
func (a *attempt) Drained(*loop.Conn)       {}
func (a *attempt) Expired(*loop.Conn)       {}
func (a *attempt) Failed(*loop.Conn, error) {}
