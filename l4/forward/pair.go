package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// pair is a client connection and its backend connection. It holds no buffer.
type pair struct {
	w       *worker
	farm    *farmTable // at the start of the connection
	port    *port      // virtual port
	client  *loop.Conn
	up      *loop.Conn // nil without a connection
	to      *backend   // nil before the selection
	choice  choice
	tried   balance.Tried
	attempt *balance.Attempt // while trying down backends; else nil
	trying  int64            // start of the attempts
	group   *group           // group of the server name; nil without one
	counted *connCount       // counter for max_conns; may be nil
	began   int64            // start of the connect

	proxyHeader proxyproto.Intake
	firstBytes  bool // the client must send first
	awaits      int  // number of first bytes to wait for; 0 for any
	established bool // up is connected
	// ends that were read and passed on
	clientEnded, backendEnded bool
	ending                    bool   // one side accepts no more data
	clientBulk, backendBulk   bool   // much data arrives at once from there
	lastFailure               string // last connect failure
	story                     story
}

// end resets both connections. by tells which side caused it, reason why. The reason of a
// refusal is kept.
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

// close closes both connections after all directions have ended.
func (p *pair) close() {
	p.client.Close()
	p.up.Close()
	p.forget()
}

// forget removes the pair from the counters.
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

// clientSide and backendSide receive the events of the two connections.
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

// Connected implements loop.Handler. Client connections are accepted, not dialled.
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

// Drained implements loop.Handler. The other side may be read again.
func (s *clientSide) Drained(*loop.Conn) {
	p := (*pair)(s)
	p.relay(p.up, p.client)
}

// Drained implements loop.Handler.
func (s *backendSide) Drained(*loop.Conn) {
	p := (*pair)(s)
	p.relay(p.client, p.up)
}

// Expired implements loop.Handler. No data moved for the idle time.
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

// Expired implements loop.Handler. The client side has the pair's deadline.
func (s *backendSide) Expired(*loop.Conn) {}

// Failed implements loop.Handler. The client connection is closed already.
func (s *clientSide) Failed(*loop.Conn, error) {
	p := (*pair)(s)
	if p.up != nil {
		p.up.Abort()
	}
	p.forget()
}

// Failed implements loop.Handler. The backend connection is closed already.
func (s *backendSide) Failed(*loop.Conn, error) {
	p := (*pair)(s)
	p.client.Abort()
	p.forget()
}
