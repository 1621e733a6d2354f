package forward

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/stats"
)

const cut = farm.MaintenanceCut

// Engine serves the userspace l4xnat farms on the given loops, next to engines for other
// farms.
type Engine struct {
	engine.Base[*worker]
	table      atomic.Pointer[table]
	registries *registries
	unsettled  bool // a table was compiled that is not in use, because it is new or was refused
	log        *slog.Logger
	rejections *rejection.Log
	classes    []int         // position of each rejection class in the segment
	stop       chan struct{} // closed by Close

	flows atomic.Int64 // of all loops; bounded by loop.MostUDPConns
}

// New returns an engine that serves nothing until Publish. Each loop counts in the shard of
// its position. log receives refusals and state changes of backends. An engine that names
// its rejection classes for the whole segment must be created first.
func New(loops []*loop.Loop, healthTable *health.Table, segment *stats.Segment, log *slog.Logger) *Engine {
	e := &Engine{
		Base:       engine.Base[*worker]{Health: healthTable, Segment: segment, Prober: revive.New(loops, healthTable, log), Marks: marks.NewUser("l4", loop.CanMark)},
		registries: newRegistries(),
		log:        log, rejections: rejection.New(log, len(loops), classNames[:]...), stop: make(chan struct{}),
		classes: segment.AddClasses(classNames[:]...),
	}
	for i, l := range loops {
		e.Workers = append(e.Workers, newWorker(e, l, segment.Shard(i), e.rejections.Recorder(i)))
	}
	e.Profile = e
	e.Start()
	e.table.Store(&table{})
	go e.sweep()
	return e
}

// Close stops the probes and the sweeping of sessions, and writes the last log lines. The
// loops belong to the caller.
func (e *Engine) Close() {
	if !e.Stop() {
		return
	}
	close(e.stop)
	e.Prober.Close()
	e.rejections.Close()
}

func (e *Engine) sweep() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-ticker.C:
			e.table.Load().sweep()
		}
	}
}

// Generation implements engine.Profile.
func (e *Engine) Generation() uint64 { return e.table.Load().generation }

// Handles implements engine.Engine.
func (e *Engine) Handles(f *farm.Farm) bool { return f.L4 != nil }

// lost marks a backend down after a failed connect, only for clients that use that port if
// there are several. If the backend has changed since the connect began, the failure does
// not count.
func (e *Engine) lost(b *backend, port revive.Port, cause error) {
	port = e.told(b, port)
	e.Prober.Lost(b.id, b.reach.Reach, cause, e.reachNow(b.id, port))
}

// doubt is lost for a connect from a client's address.
func (e *Engine) doubt(b *backend, port revive.Port) {
	port = e.told(b, port)
	e.Prober.Doubt(b.id, b.reach.Reach, func(err error) bool { return !ours(err) && !errors.Is(err, marks.ErrNone) }, e.reachNow(b.id, port))
}

// told returns the port under which findings about a backend are recorded, or none if it has
// a single port. From then on its clients observe these findings.
func (e *Engine) told(b *backend, port revive.Port) revive.Port {
	if len(b.reach.Ports) == 0 {
		return revive.Port{}
	}
	if now := e.table.Load().backends.Of(b.id); now != nil {
		now.separate(e, port)
	}
	return port
}

// reachNow returns a function that returns the current way to reach a backend for clients of
// that port, or nil if it was removed.
func (e *Engine) reachNow(id uint32, port revive.Port) func() *revive.Backend {
	return func() *revive.Backend {
		if now := e.table.Load().backends.Of(id); now != nil {
			return now.reach.On(port)
		}
		return nil
	}
}

// compiled is a table of the engine, as core/engine knows it.
type compiled struct {
	*table
	engine *Engine
}

// Compile implements engine.Profile.
func (e *Engine) Compile(generation uint64, _ bool, cfg *farm.Config, missing map[marks.Kind]error) (engine.Table, map[uint32]error) {
	t, problems := e.compile(e.followed(), generation, cfg, missing)
	e.unsettled = true
	return compiled{t, e}, problems
}

// Current implements engine.Profile.
func (e *Engine) Current() engine.Table { return compiled{e.table.Load(), e} }

// Empty implements engine.Profile.
func (e *Engine) Empty() engine.Table {
	return compiled{&table{generation: e.Generation(), backends: e.table.Load().backends}, e}
}

// Behind implements engine.Table. Connections of a deleted farm end at once.
func (c compiled) Behind(p *port) (is bool, grace time.Duration) {
	if f := c.On(p); f != nil {
		return true, f.grace
	}
	return false, 0
}

// Use implements engine.Table.
func (c compiled) Use() {
	e, t := c.engine, c.table
	before := e.table.Swap(t)
	t.dropCut(before)
	for _, f := range t.Farms.Fresh { // after the swap: from now on, refusals separate the port in t
		for i := range f.backends {
			for _, port := range e.Prober.Refused(f.backends[i].id) {
				f.backends[i].separate(e, port)
			}
		}
	}
	e.registries.fix(t.Farms.Fresh)
}

// Used implements engine.Table.
func (c compiled) Used(cfg *farm.Config) {
	c.engine.registries.retain(cfg, c.Follows())
	c.engine.unsettled = false
	c.Settle()
}
