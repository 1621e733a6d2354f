package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/dial"
)

// The passive side of health: a backend that could not be connected to is
// down for all loops at once, and is tried again every resurrectime until a
// connect succeeds. Trying again is not the business of any exchange, so it
// runs beside the loops.

const (
	proberTick = 100 * time.Millisecond
	// probesAtOnce bounds the connects under way, so that a rack that went
	// down costs no descriptors the traffic needs.
	probesAtOnce = 64
)

// suspect is one backend that is down.
type suspect struct {
	address string
	reach   string
	target  dial.Target // with its time-out, source address and mark
	name    string
	alias   string
	every   time.Duration
	next    time.Time
	probing bool
}

// prober tries backends that are down again.
type prober struct {
	engine   *Engine
	mu       sync.Mutex
	suspects map[uint32]*suspect
	slots    chan struct{}
	ctx      context.Context
	stop     context.CancelFunc
	ejected  map[uint32]ejected
	version  uint64 // of the board, at the last look; of run only
}

func newProber(e *Engine) *prober {
	p := &prober{engine: e, suspects: map[uint32]*suspect{}, ejected: map[uint32]ejected{}, slots: make(chan struct{}, probesAtOnce)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	go p.run()
	return p
}

// lost marks a backend down after a failed connect. Any loop may call it; it
// is not part of the hot path. An exchange that began before a change may fail
// where the backend is not reached any more: that says nothing of it now. Under
// the lock either the new table is seen here, or retain comes after.
func (e *Engine) lost(f *farmTable, s *service, b *backend, cause error) {
	p := e.prober
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := e.table.Load().backends[b.id]; now == nil || now.reach != b.reach {
		return
	}
	p.suspect(f, s, b) // before it is marked: whoever is down is tried again
	if e.board.SetPassive(b.id, health.Down, time.Now()) {
		e.log.Warn("backend is down", append([]any{"farm", f.name, "service", s.name, "cause", cause}, naming(b.origin, b.alias)...)...)
	}
}

// naming says in a log which backend it is.
func naming(address, alias string) []any {
	if alias == "" {
		return []any{"backend", address}
	}
	return []any{"backend", address, "alias", alias}
}

// reached notes that a backend nothing was known of could be connected to.
func (e *Engine) reached(b *backend) {
	if e.board.Slot(b.id).Passive() == health.Undefined {
		e.board.SetPassive(b.id, health.Up, time.Now())
	}
}

// suspect returns the entry of a backend that is down. p.mu is held.
func (p *prober) suspect(f *farmTable, s *service, b *backend) *suspect {
	known := p.suspects[b.id]
	if known == nil {
		every := time.Duration(f.resurrect)
		known = &suspect{
			address: b.origin, reach: b.reach, name: f.name + "/" + s.name, alias: b.alias, every: every,
			target: b.target, next: time.Now().Add(every),
		}
		p.suspects[b.id] = known
	}
	return known
}

// retain forgets backends that are gone, and learns of those that an earlier
// engine left marked down.
func (p *prober) retain(t *table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.suspects {
		b := t.backends[id]
		if b != nil && b.reach == s.reach {
			continue
		}
		delete(p.suspects, id)
		if b != nil { // it is reached in another way now: what was found before is no finding
			p.engine.board.SetPassive(id, health.Undefined, time.Now())
		}
	}
	for _, f := range t.byID {
		for i := range f.services {
			s := &f.services[i]
			for j := range s.backends {
				p.inherit(f, s, &s.backends[j])
				p.inheritEjected(f, s, &s.backends[j])
			}
		}
	}
}

// inherit takes over a backend that is marked down, with the times of the new
// table. p.mu is held.
func (p *prober) inherit(f *farmTable, s *service, b *backend) {
	if p.engine.board.Slot(b.id).Passive() != health.Down {
		return
	}
	known := p.suspect(f, s, b)
	every := time.Duration(f.resurrect)
	if soon := time.Now().Add(every); known.next.After(soon) {
		known.next = soon // the time between tries was made shorter
	}
	known.every, known.target = every, b.target
}

func (p *prober) run() {
	ticker := time.NewTicker(proberTick)
	defer ticker.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-ticker.C:
			p.due(now)
			p.readmit(now)
			if v := p.engine.board.Version(); v != p.version {
				p.version = v
				p.engine.registry.stir()
			}
			p.engine.registry.sweep(p.engine.table.Load())
		}
	}
}

// due starts the probes whose time has come.
func (p *prober) due(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.suspects {
		if s.probing || now.Before(s.next) {
			continue
		}
		select {
		case p.slots <- struct{}{}:
			s.probing = true
			go p.probe(id, s, s.target)
		default:
			return
		}
	}
}

func (p *prober) probe(id uint32, s *suspect, to dial.Target) {
	defer func() { <-p.slots }()
	err := p.connect(to)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.probing, s.next = false, time.Now().Add(s.every)
	if err != nil || p.suspects[id] != s {
		return
	}
	delete(p.suspects, id)
	if p.engine.board.SetPassive(id, health.Up, time.Now()) {
		p.engine.log.Info("backend is up again", append([]any{"farm", s.name}, naming(s.address, s.alias)...)...)
	}
}
