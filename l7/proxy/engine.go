package proxy

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/doh"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/client"
	asked "github.com/sluicelb/sluice/l7/explain"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// defaultGrace is the default time for exchanges and tunnels of a stopped or deleted farm to
// finish.
const defaultGrace = time.Duration(farm.DefaultStopGrace) * time.Second

// Engine serves all http farms on the given loops.
type Engine struct {
	engine.Base[*worker]
	table      atomic.Pointer[table.Table]
	registry   *state.Registry
	compiler   *table.Compiler
	ejections  *ejections
	log        *slog.Logger
	rejections *rejection.Log
	tls        *tlsconf.Store
	checker    *guard.Checker
	logins     *logins
	penalties  *client.Penalties
	names      doh.Answerer
	stop       chan struct{} // closed by Close
}

// New returns an engine that serves nothing until Publish. Each loop counts in the shard of
// its position. log receives refusals and state changes of backends.
func New(loops []*loop.Loop, healthTable *health.Table, segment *stats.Segment, log *slog.Logger) *Engine {
	e := &Engine{
		Base:     engine.Base[*worker]{Health: healthTable, Segment: segment, Prober: revive.New(loops, healthTable, log), Marks: marks.NewUser("l7", loop.CanMark)},
		registry: state.New(len(loops)),
		log:      log, rejections: rejection.New(log, len(loops), rejected.Names[:]...),
		tls: tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}), checker: guard.NewChecker(), logins: newLogins(),
		penalties: client.NewPenalties(),
		stop:      make(chan struct{}),
	}
	e.compiler = table.NewCompiler(e.registry, healthTable, e.tls)
	for i, l := range loops {
		e.Workers = append(e.Workers, newWorker(e, l, segment.Shard(i), e.rejections.Recorder(i)))
		e.Workers[i].index = i
	}
	segment.NameClasses(rejected.Names[:]...)
	e.Profile = e
	e.Start()
	e.table.Store(&table.Table{})
	e.ejections = newEjections(e)
	go e.background()
	return e
}

// AnswerNames sets the name server, on the same loops, for services with a gslb farm. It
// must be called before the first Publish.
func (e *Engine) AnswerNames(by doh.Answerer) { e.names = by }

// Close stops the probes of down backends and writes the last log lines. The loops belong to
// the caller.
func (e *Engine) Close() {
	if !e.Stop() {
		return
	}
	close(e.stop)
	e.Prober.Close()
	e.checker.Close()
	e.rejections.Close()
}

// Generation implements engine.Profile.
func (e *Engine) Generation() uint64 { return e.table.Load().Generation }

// Handles implements engine.Engine.
func (e *Engine) Handles(f *farm.Farm) bool { return f.HTTP != nil }

// RunsFarm implements engine.Engine.
func (e *Engine) RunsFarm(farm uint32) bool { return e.table.Load().ByID[farm] != nil }

// Background work: probing down backends (core/revive), readmitting ejected ones, ejecting
// outliers, waking queues for changes outside of exchanges, and removing expired sessions.

const backgroundEvery = 100 * time.Millisecond

// background runs until Close.
func (e *Engine) background() {
	ticker := time.NewTicker(backgroundEvery)
	defer ticker.Stop()
	var version uint64 // last seen version of the health table
	compared := windows{engine: e}
	for {
		select {
		case <-e.stop:
			return
		case now := <-ticker.C:
			e.ejections.readmit(now)
			compared.look(now)
			if v := e.Health.Version(); v != version {
				version = v
				e.registry.Stir()
			}
			e.table.Load().Sweep()
		}
	}
}

// Explain returns the outcome of a hypothetical request, see l7/explain.
func (e *Engine) Explain(q *explain.Question) (*explain.Explanation, error) {
	x := asked.Engine{Table: e.table.Load(), Segment: e.Segment, Checker: e.checker}
	return x.Explain(q)
}
