package revive

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/lasting"
	"github.com/sluicelb/sluice/core/loop"
)

const (
	tick = 100 * time.Millisecond
	// soonest is how long after a backend was found down it is tried first; the
	// time doubles until it is Backend.Every. Most outages are short.
	soonest = 200 * time.Millisecond
	// briefest is the least time a try may take: a packet that was lost in an
	// outage is sent again by the next try, not by the patience of this one.
	briefest = time.Second
	// atOnce bounds the connects under way, so that a rack that went down costs
	// no descriptors the traffic needs.
	atOnce = 64
)

// Backend is how a backend is reached, and what logs call it.
type Backend struct {
	ID   uint32
	Addr netip.AddrPort
	// Ports are the ports it is reached on where these are told apart; nil where
	// Addr is all there is. Port is the one of them this is about, see On.
	Ports []Port
	Port  Port
	// Timeout bounds one connect, Every the time between two.
	Timeout, Every time.Duration
	// Options are those of its connections; the Preface is what they begin with.
	Options loop.DialOptions
	// Blind says that connecting tells nothing (UDP): the backend is taken for
	// up again when its time has come.
	Blind bool
	// Reach tells all of the above that decides whether a connect succeeds: what
	// was found out is no finding any more when it changes.
	Reach string
	// Owner is whose it is, as logs say it: "farm" and its name, and perhaps
	// "service" and its name.
	Owner []any
	Alias string
}

// Attrs is what a log line about the backend says: whose it is, then more, then
// which it is.
func (b *Backend) Attrs(more ...any) []any {
	attrs := append(slices.Concat(b.Owner, more), "backend", b.Addr.String())
	if transport := b.transport(); transport != "" {
		attrs = append(attrs, "protocol", transport)
	}
	if b.Alias != "" {
		attrs = append(attrs, "alias", b.Alias)
	}
	return attrs
}

// Prober tries backends that are down again. Any goroutine may call its methods.
type Prober struct {
	loops    []*loop.Loop
	health   *health.Table
	log      *slog.Logger
	mu       sync.Mutex
	suspects map[key]*suspect
	apart    lasting.Map[key, health.Slot] // what is found of single ports
	slots    chan struct{}
	ctx      context.Context
	stop     context.CancelFunc
}

// New returns a Prober that works until Close.
func New(loops []*loop.Loop, healthTable *health.Table, log *slog.Logger) *Prober {
	p := &Prober{loops: loops, health: healthTable, log: log, suspects: map[key]*suspect{}, slots: make(chan struct{}, atOnce)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	go p.run()
	return p
}

// Close ends the tries.
func (p *Prober) Close() { p.stop() }

// Lost marks a backend (or the port of it that now names) down after a failed
// connect, if it is still reached the way it was then; now says how it is reached
// now, nil when it is gone. It is called under the Prober's lock: either it sees
// the table in use, or Retain comes after. Lost is not part of a hot path.
func (p *Prober) Lost(id uint32, reach string, cause error, now func() *Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := now()
	if b == nil || b.Reach != reach {
		return
	}
	p.suspect(b).lose(time.Now()) // before it is marked: whoever is down is tried again
	p.down(b, cause)
}

// Reached notes that a backend nothing was known of could be connected to.
func (p *Prober) Reached(id uint32) {
	if p.health.Slot(id).Passive() == health.Undefined {
		p.health.SetPassive(id, health.Up, time.Now())
	}
}

// Revived marks a backend up that is down, after an exchange connected to it; the
// arguments are those of Lost.
func (p *Prober) Revived(reach string, now func() *Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := now()
	if b == nil || b.Reach != reach {
		return
	}
	if s := p.suspects[b.key()]; s != nil && s.down() {
		p.back(s)
	}
}

// back notes that a backend that was down could be connected to. p.mu is held.
func (p *Prober) back(s *suspect) {
	s.since = time.Now()
	if p.find(&s.Backend, health.Up) {
		p.log.Info("backend is up again", s.Attrs()...)
	}
}

// suspect returns the entry of a backend. p.mu is held.
func (p *Prober) suspect(b *Backend) *suspect {
	known := p.suspects[b.key()]
	if known == nil {
		known = newSuspect(b)
		p.suspects[b.key()] = known
	}
	return known
}

// Retain says which backends there are, by number, and which of them are new or may be
// reached in another way: others are forgotten, and those an earlier engine left marked
// down are tried from now on.
func (p *Prober) Retain(there func(id uint32) *Backend, fresh []*Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.suspects {
		b := there(k.id).On(k.port)
		if b != nil && b.Reach == s.Reach {
			continue
		}
		delete(p.suspects, k)
		if b != nil && s.down() { // it is reached in another way now: what was found before is no finding
			p.find(b, health.Undefined)
		}
	}
	p.apart.Retain(func(k key, _ *health.Slot) bool { return there(k.id).On(k.port) != nil })
	for _, whole := range fresh {
		none := p.health.Slot(whole.ID).Passive() == health.Down
		for _, b := range whole.each() {
			known := p.suspects[b.key()]
			if known != nil {
				known.Backend = *b
			}
			if !none && (known == nil || !known.down()) {
				continue
			}
			p.find(b, health.Down)
			p.suspect(b).hurry(time.Now())
		}
	}
}

func (p *Prober) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-ticker.C:
			p.due(now)
		}
	}
}

// due starts the tries whose time has come.
func (p *Prober) due(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.suspects {
		switch {
		case s.steady(now):
			delete(p.suspects, k)
			continue
		case !s.tried() || s.probing || now.Before(s.next):
			continue
		}
		select {
		case p.slots <- struct{}{}:
			s.probing = true
			go p.probe(k, s, s.try())
		default:
			return
		}
	}
}

func (p *Prober) probe(k key, s *suspect, b Backend) {
	defer func() { <-p.slots }()
	err := p.connect(&b)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.probing = false
	if p.suspects[k] != s || !s.tried() {
		return
	}
	if s.blames != nil {
		p.decide(k, s, err)
		return
	}
	if err != nil {
		s.wait(time.Now())
		return
	}
	p.back(s)
}
