package forward

import (
	"errors"
	"net/netip"
	"syscall"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
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
	group   *group  // that of the name the client asks for; nil for the others
	place   *places // what it has a place of; nil without a bound
	began   int64   // when the connect did
	intro   proxyproto.Intake
	opening bool // the client has to say something first
	stands  bool // up is connected
	// of each direction: its end was read and passed on
	clientEnded, backendEnded bool
	ending                    bool // one side takes nothing any more
	clientBulk, backendBulk   bool // many bytes at once come from there
	story                     story
}

// clientSide and backendSide get the events of the two connections.
type (
	clientSide  pair
	backendSide pair
)

// triesMost bounds the backends that are tried at once for one client.
const triesMost = 32

// tuple is what the backend is chosen by.
func (p *pair) tuple() tuple {
	t := tuple{client: p.client.Peer(), local: netip.AddrPortFrom(p.farm.local, p.port.Addr.Port()), group: p.group}
	if p.farm.needsLocal() {
		t.local = p.client.Local()
	}
	return t
}

// connect chooses a backend that was not tried and connects to it; without any
// the client is refused.
func (p *pair) connect() {
	w, f := p.w, p.farm
	t := p.tuple()
	for range triesMost {
		c, ok := f.choose(&t, p.tried, w.wall(), w.key)
		if !ok {
			break
		}
		if now := w.engine.table.Load(); now.byID[f.id] != nil && now.ended(f.backends[c.index].id) {
			p.tried = p.tried.With(c.member) // since the farm was compiled
			c.held.Done()
			continue
		}
		if p.dial(c) {
			return
		}
	}
	w.farm(f).NoBackend++
	w.note(f, noBackend, "no backend can be used now", p.client.Peer(), netip.AddrPort{})
	p.story.refused(noBackend)
	p.end(accesslog.AbortedHere)
}

// dial begins to connect to a chosen backend. It reports false when that failed
// at once and another one may be tried.
func (p *pair) dial(c choice) bool {
	w := p.w
	b := &p.farm.backends[c.index]
	p.choice, p.to, p.began = c, b, w.loop.Now()
	p.story.chose(c, b)
	s := w.backend(b)
	s.Established++
	s.Pending++
	options := b.options
	if options.Mark == marks.Transparent {
		options.Source = p.client.Peer().Addr() // answers come back: sysnet/route
	}
	if p.farm.announce != 0 {
		options.Preface = p.announcement()
	}
	up, err := w.loop.Dial(b.to(p.port.Addr.Port()), (*backendSide)(p), p.farm.connect, options)
	if err == nil {
		p.up = up
		return true
	}
	p.missed(err)
	return false
}

// missed notes that the connect to the chosen backend failed.
func (p *pair) missed(err error) {
	w, b := p.w, p.to
	w.backend(b).ConnectFailures++
	switch {
	case errors.Is(err, marks.ErrNone):
		w.note(p.farm, noMarked, "no socket with the backend's mark", p.client.Peer(), b.addr)
	case !ours(err):
		w.engine.lost(b, err)
	}
	p.tried = p.tried.With(p.choice.member)
	p.release()
}

// ours reports whether an error is this machine's and says nothing of a backend:
// something is short, or the source address (of a client that the PROXY protocol
// named, too) is none this machine or the backend's IP version can have.
func ours(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EADDRINUSE) ||
		errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EINVAL)
}

// release gives the chosen backend back.
func (p *pair) release() {
	if p.to == nil {
		return
	}
	s := p.w.backend(p.to)
	s.Established--
	if !p.stands {
		s.Pending--
	}
	p.choice.held.Done()
	p.to, p.choice = nil, choice{}
}

// failed gives up the connect that is under way and tries another backend.
func (p *pair) failed() {
	p.up.Close()
	p.up = nil
	p.tried = p.tried.With(p.choice.member)
	p.release()
	p.connect()
}

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
	w.engine.prober.Reached(p.to.id)
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

// end ends both connections with a reset; by says whose doing it is.
func (p *pair) end(by accesslog.Flags) {
	p.story.flags |= by
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
	w.tell(p.farm, p.client.Peer(), &p.story)
	s := w.farm(p.farm)
	s.Established--
	if !p.stands {
		s.Pending--
	}
	p.place.leave()
	w.busy--
	*p = pair{}
	w.pairs.Put(p)
}
