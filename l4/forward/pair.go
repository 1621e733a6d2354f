package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// pair is a client's connection and the one that was made for it to a backend.
// It holds no buffer.
type pair struct {
	w       *worker
	farm    *farmTable // the one it began with
	port    *port      // where the client came in
	client  *loop.Conn
	up      *loop.Conn // nil while there is none
	to      *backend   // nil before a choice
	choice  choice
	tried   balance.Tried
	attempt *balance.Attempt // while it tries backends that are down; nil otherwise
	trying  int64            // since when it does so
	group   *group           // that of the name the client asks for; nil for the others
	counted *connCount       // counts it for max_conns; nil without
	began   int64            // when the connect did

	proxyHeader proxyproto.Intake
	firstBytes  bool // the client has to send something first
	awaits      int  // wake up when that many of the first bytes are there; 0 for any
	established bool // up is connected
	// of each direction: its end was read and passed on
	clientEnded, backendEnded bool
	ending                    bool   // one side takes nothing any more
	clientBulk, backendBulk   bool   // many bytes at once come from there
	lastFailure               string // of the connects to backends
	story                     story
}

// end ends both connections with a reset; by says whose doing it is, reason why. The
// reason of a refusal stays.
func (p *pair) end(by accesslog.Flags, reason string) {
	p.story.flags |= by
	if p.story.rejection == 0 {
		p.story.reason = reason
	}
	p.client.Abort()
	if p.up != nil {
		p.up.Abort()
	}
	p.forget()
}

// close ends both connections, whose directions have all ended.
func (p *pair) close() {
	p.client.Close()
	p.up.Close()
	p.forget()
}

// forget counts the pair out.
func (p *pair) forget() {
	w := p.w
	p.release()
	p.attempted()
	w.tell(p.farm, accesslog.ProtoTCP, p.client.Peer(), &p.story)
	s := w.farm(p.farm)
	s.Established--
	if !p.established {
		s.Pending--
	}
	p.counted.release()
	w.busy--
	*p = pair{}
	w.pairs.Put(p)
}

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
	p.established = true
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
	case p.established:
		p.relay(p.client, p.up)
	case p.firstBytes:
		p.readFirstBytes()
	case c.Broken():
		p.w.farm(p.farm).ClientAborts++
		p.end(accesslog.AbortedByClient, clientLeft)
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
	reason := idleTooLong
	if p.firstBytes {
		reason = lateFirstBytes
		p.w.note(p.farm, timeout, reason, p.client.Peer(), netip.AddrPort{})
	}
	p.story.refused(timeout, reason)
	p.end(accesslog.AbortedHere, reason)
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
