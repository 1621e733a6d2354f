package revive

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/registry"
)

const (
	tick = 100 * time.Millisecond
	// soonest is the delay of the first retry. The delay doubles up to Backend.Every.
	// Most outages are short.
	soonest = 200 * time.Millisecond
	// briefest is the minimum timeout of a retry. A packet lost in an outage is
	// repeated by the next retry instead of a TCP retransmission.
	briefest = time.Second
	// atOnce limits concurrent connects, so that the failure of a rack does not use up
	// descriptors needed for traffic.
	atOnce = 64
)

// Backend describes how to reach a backend, and its name in logs.
type Backend struct {
	ID   uint32
	Addr netip.AddrPort
	// Ports are the ports with separate states; nil if Addr is the only address. Port
	// selects one of them, see On.
	Ports []Port
	Port  Port
	// Timeout limits one connect. Every is the maximum interval between retries.
	Timeout, Every time.Duration
	// Options are the dial options; the Preface is sent first.
	Options loop.DialOptions
	// Blind means that a connect proves nothing (UDP): the backend is assumed up when
	// its retry is due.
	Blind bool
	// Reach identifies all of the above that affects the result of a connect. A change
	// of it invalidates the state.
	Reach string
	// Owner holds log attributes: "farm" and its name, and optionally "service" and its
	// name.
	Owner []any
	Alias string
}

// Attrs returns the log attributes of the backend: its owner, then more, then its
// address.
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

// Prober retries backends that are down. It is safe for concurrent use.
type Prober struct {
	loops    []*loop.Loop
	health   *health.Table
	log      *slog.Logger
	mu       sync.Mutex
	suspects map[key]*suspect
	apart    registry.Map[key, health.Slot] // states of single ports
	slots    chan struct{}
	ctx      context.Context
	stop     context.CancelFunc
}

// New returns a Prober, which runs until Close.
func New(loops []*loop.Loop, healthTable *health.Table, log *slog.Logger) *Prober {
	p := &Prober{loops: loops, health: healthTable, log: log, suspects: map[key]*suspect{}, slots: make(chan struct{}, atOnce)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	go p.run()
	return p
}

// Close stops all retries.
func (p *Prober) Close() { p.stop() }

// Lost marks a backend, or the port of it that now returns, as down after a failed
// connect. now returns the current backend, or nil if it was removed. Nothing happens
// if its Reach differs from reach. now runs under p.mu. Either it sees the current
// table, or a later Retain corrects the result. Lost is not for hot paths.
func (p *Prober) Lost(id uint32, reach string, cause error, now func() *Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := now()
	if b == nil || b.Reach != reach {
		return
	}
	p.suspect(b).lose(time.Now()) // first, so that every backend marked down is retried
	p.down(b, cause)
}

// Reached marks a backend with unknown state up after a connect.
func (p *Prober) Reached(id uint32) {
	if p.health.Slot(id).Passive() == health.Undefined {
		p.health.SetPassive(id, health.Up, time.Now())
	}
}

// Revived marks a backend that is down as up after an exchange has connected to it. See
// Lost for the arguments.
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

// back records that a backend that was down accepted a connect. p.mu must be held.
func (p *Prober) back(s *suspect) {
	s.since = time.Now()
	if p.find(&s.Backend, health.Up) {
		p.log.Info("backend is up again", s.Attrs()...)
	}
}

// suspect returns the entry of a backend and creates it if necessary. p.mu must be
// held.
func (p *Prober) suspect(b *Backend) *suspect {
	known := p.suspects[b.key()]
	if known == nil {
		known = newSuspect(b)
		p.suspects[b.key()] = known
	}
	return known
}

// Retain updates the set of backends. there returns a backend by stable number, nil if
// it does not exist. fresh lists backends that are new or may be reached differently.
// Other entries are deleted. Backends that an earlier engine left down are retried from
// now on.
func (p *Prober) Retain(there func(id uint32) *Backend, fresh []*Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.suspects {
		b := there(k.id).On(k.port)
		if b != nil && b.Reach == s.Reach {
			continue
		}
		delete(p.suspects, k)
		if b != nil && s.down() { // its Reach changed, so the earlier state is invalid
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

// due starts the retries that are due.
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
