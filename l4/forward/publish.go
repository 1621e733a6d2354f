package forward

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Plan is a configuration that was compiled and is not in use yet. It ends with
// Commit or Discard; no other change is possible meanwhile.
type Plan struct {
	engine   *Engine
	cfg      *farm.Config
	table    *table
	problems map[uint32]string
}

// Publish is Prepare and Commit.
func (e *Engine) Publish(generation uint64, cfg *farm.Config, opened map[string][]*os.File) (problems map[uint32]string, err error) {
	p, err := e.Prepare(generation, cfg)
	if err != nil {
		return nil, err
	}
	return p.Commit(opened), nil
}

// Prepare compiles a configuration and changes nothing. An error means that it
// is refused: some farm cannot be served. While the engine has no table yet the
// others must not wait for such a farm, which is named among the problems then.
func (e *Engine) Prepare(generation uint64, cfg *farm.Config) (*Plan, error) {
	e.mu.Lock()
	t, bad := e.compile(generation, cfg, e.marks.Prepare(kindsOf(cfg), e.Generation() == 0))
	p := &Plan{engine: e, cfg: cfg, table: t, problems: map[uint32]string{}}
	if len(bad) > 0 && e.Generation() != 0 {
		p.Discard()
		return nil, errors.Join(slices.Collect(maps.Values(bad))...)
	}
	for id, err := range bad {
		p.problems[id] = err.Error()
	}
	return p, nil
}

// Discard forgets the plan.
func (p *Plan) Discard() {
	p.engine.marks.Keep(p.engine.table.Load().kinds())
	p.engine.mu.Unlock()
}

// Needs lists the keys of listeners the engine has no sockets for and needs.
func (p *Plan) Needs() (keys []string) {
	for _, f := range p.table.byID {
		for _, l := range f.listeners {
			if !p.engine.ports.Open(l) {
				keys = append(keys, l.Key())
			}
		}
	}
	return keys
}

// Commit makes the plan what new connections begin with. opened holds one
// listening socket per loop for each of Needs, which stay the caller's. The
// result names farms that are not served as they should be, by ID.
func (p *Plan) Commit(opened map[string][]*os.File) (problems map[uint32]string) {
	e, t := p.engine, p.table
	defer e.mu.Unlock()
	e.adopt(t)
	e.assign(t)
	closed := e.unlisten(t) // first: who comes in meanwhile is for who listens next
	before := e.table.Swap(t)
	t.dropCut(before)
	for _, b := range t.backends { // after the swap: what is refused from now on separates the port in t
		for _, port := range e.prober.Refused(b.id) {
			b.separate(e, port)
		}
	}
	e.registry.fix(t)
	for id, f := range t.byID {
		for _, l := range f.listeners {
			if err := e.ports.Listen(l, opened[l.Key()]); err != nil {
				p.problems[id] = err.Error()
			}
		}
	}
	for _, port := range closed {
		port.Grace = 0
		if f := before.farm(port); f != nil {
			port.Grace = f.grace
		}
		if port.Grace > 0 {
			time.AfterFunc(port.Grace, e.expel)
		}
	}
	// Waited for: a farm may be started again at once, and then nothing is over.
	over := e.ports.Over()
	e.ports.OnLoops(func(w *worker) { w.settle(t); w.expel(over) })
	e.registry.retain(p.cfg)
	e.prober.Retain(t.reached())
	e.marks.Keep(t.kinds())
	return p.problems
}

// adopt claims the shared slots of all farms and backends: one that belonged
// to another owner before starts from nothing.
func (e *Engine) adopt(t *table) {
	for id := range t.byID {
		e.segment.AdoptFarm(id, uint64(id))
	}
	for id := range t.backends {
		e.segment.AdoptBackend(id, uint64(id))
		e.board.Adopt(id, uint64(id))
	}
}

// Drain stops accepting and lets what is under way end, until all connections
// are gone or the time is up.
func (e *Engine) Drain(grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &table{generation: e.Generation(), backends: e.table.Load().backends}
	e.table.Store(t)
	e.unlisten(t)
	e.ports.Idle(grace, func(w *worker) int { return w.busy })
}
