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

// Engine carries the traffic of the l4xnat farms of userspace on the given
// loops, together with engines for other farms.
type Engine struct {
	engine.Base[*worker]
	table      atomic.Pointer[table]
	registry   *registry
	log        *slog.Logger
	rejections *rejection.Log
	classes    []int         // the position of each class of rejections in the segment
	stop       chan struct{} // closed by Close

	flows atomic.Int64 // of all loops; loop.MostUDPConns bounds them
}

// New returns an engine that serves nothing until Publish. Each loop counts in
// the shard of its position. log is told what is refused, and which backends
// go down and come back. An engine that names its classes of rejections for all
// of the segment comes first.
func New(loops []*loop.Loop, healthTable *health.Table, segment *stats.Segment, log *slog.Logger) *Engine {
	e := &Engine{
		Base:     engine.Base[*worker]{Health: healthTable, Segment: segment, Prober: revive.New(loops, healthTable, log), Marks: marks.NewUser("l4", loop.CanMark)},
		registry: newRegistry(),
		log:      log, rejections: rejection.New(log, len(loops), classNames[:]...), stop: make(chan struct{}),
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

// Close stops looking after backends and sessions and writes the last lines.
// The loops are the caller's.
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

// lost marks a backend down after a failed connect: for clients that reach it on
// that port alone, if there are several. What began before a change may fail
// where the backend is not reached any more: that says nothing of it now.
func (e *Engine) lost(b *backend, port revive.Port, cause error) {
	port = e.told(b, port)
	e.Prober.Lost(b.id, b.reach.Reach, cause, e.reachNow(b.id, port))
}

// doubt is lost after a connect from the address of a client.
func (e *Engine) doubt(b *backend, port revive.Port) {
	port = e.told(b, port)
	e.Prober.Doubt(b.id, b.reach.Reach, func(err error) bool { return !ours(err) && !errors.Is(err, marks.ErrNone) }, e.reachNow(b.id, port))
}

// told is the port findings about a backend are kept by, none where there is but
// one; its clients go by them from now on.
func (e *Engine) told(b *backend, port revive.Port) revive.Port {
	if len(b.reach.Ports) == 0 {
		return revive.Port{}
	}
	if now := e.table.Load().backends[b.id]; now != nil {
		now.separate(e, port)
	}
	return port
}

// reachNow tells how a backend is reached when it is called, for clients of that
// port; nil when it is gone.
func (e *Engine) reachNow(id uint32, port revive.Port) func() *revive.Backend {
	return func() *revive.Backend {
		if now := e.table.Load().backends[id]; now != nil {
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
	t, problems := e.compile(generation, cfg, missing)
	return compiled{t, e}, problems
}

// Current implements engine.Profile.
func (e *Engine) Current() engine.Table { return compiled{e.table.Load(), e} }

// Empty implements engine.Profile.
func (e *Engine) Empty() engine.Table {
	return compiled{&table{generation: e.Generation(), backends: e.table.Load().backends}, e}
}

// Behind implements engine.Table. What came to a farm that is gone ends at once.
func (c compiled) Behind(p *port) (is bool, grace time.Duration) {
	if f := c.farm(p); f != nil {
		return true, f.grace
	}
	return false, 0
}

// Use implements engine.Table.
func (c compiled) Use() {
	e, t := c.engine, c.table
	before := e.table.Swap(t)
	t.dropCut(before)
	for _, b := range t.backends { // after the swap: what is refused from now on separates the port in t
		for _, port := range e.Prober.Refused(b.id) {
			b.separate(e, port)
		}
	}
	e.registry.fix(t)
}

// Used implements engine.Table.
func (c compiled) Used(cfg *farm.Config) { c.engine.registry.retain(cfg) }
