package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
)

// clientSide and backendSide get the events of the two connections.
type (
	clientSide  pair
	backendSide pair
)

// Connected implements loop.Handler.
func (s *backendSide) Connected(_ *loop.Conn, err error) {
	p := (*pair)(s)
	if err != nil {
		p.up = nil
		p.missed(err)
		p.connect()
		return
	}
	w := p.w
	w.engine.Prober.Reached(p.to.id)
	if p.attempt != nil {
		w.engine.revived(p.to, p.to.way(virtual(p.port.Listener)))
		p.attempted()
	}
	p.stands = true
	w.farm(p.farm).Pending--
	b := w.backend(p.to)
	b.Pending--
	b.Connects++
	p.story.connect = w.loop.Now() - p.began
	b.ConnectNanos += uint64(p.story.connect)
	p.client.SetDeadline(w.loop.Now() + p.farm.idle)
	p.relay(p.client, p.up)
}

// Connected implements loop.Handler; nobody dials a client.
func (s *clientSide) Connected(*loop.Conn, error) {}

// Readable implements loop.Handler.
func (s *clientSide) Readable(c *loop.Conn) {
	p := (*pair)(s)
	switch {
	case p.stands:
		p.relay(p.client, p.up)
	case p.opening:
		p.readOpening()
	case c.Broken():
		p.w.farm(p.farm).ClientAborts++
		p.end(accesslog.AbortedByClient)
	}
}

// Readable implements loop.Handler.
func (s *backendSide) Readable(*loop.Conn) {
	p := (*pair)(s)
	p.relay(p.up, p.client)
}

// Drained implements loop.Handler: the other side may be read again.
func (s *clientSide) Drained(*loop.Conn) {
	p := (*pair)(s)
	p.relay(p.up, p.client)
}

// Drained implements loop.Handler.
func (s *backendSide) Drained(*loop.Conn) {
	p := (*pair)(s)
	p.relay(p.client, p.up)
}

// Expired implements loop.Handler: nothing moved either way for the idle time.
func (s *clientSide) Expired(*loop.Conn) {
	p := (*pair)(s)
	if left := p.taking(); left > 0 {
		p.client.SetDeadline(p.w.loop.Now() + left)
		return
	}
	p.w.farm(p.farm).Timeouts++
	if p.opening {
		p.w.note(p.farm, timeout, "client did not say in time what it has to", p.client.Peer(), netip.AddrPort{})
	}
	p.story.refused(timeout)
	p.end(accesslog.AbortedHere)
}

// Expired implements loop.Handler; the client has the clock of the pair.
func (s *backendSide) Expired(*loop.Conn) {}

// Failed implements loop.Handler: the client's connection is closed already.
func (s *clientSide) Failed(*loop.Conn, error) {
	p := (*pair)(s)
	if p.up != nil {
		p.up.Abort()
	}
	p.forget()
}

// Failed implements loop.Handler: that to the backend is closed already.
func (s *backendSide) Failed(*loop.Conn, error) {
	p := (*pair)(s)
	p.client.Abort()
	p.forget()
}
