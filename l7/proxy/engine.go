package proxy

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// defaultGrace is how long the exchanges and tunnels of a farm that was stopped
// or deleted may go on, unless the farm says otherwise.
const defaultGrace = time.Duration(farm.DefaultStopGrace) * time.Second

// Engine carries the traffic of all http farms on the given loops.
type Engine struct {
	table     atomic.Pointer[table.Table]
	workers   []*worker
	board     *health.Board
	segment   *stats.Segment
	registry  *state.Registry
	compiler  *table.Compiler
	prober    *revive.Prober
	ejections *ejections
	log       *slog.Logger
	refusals  *refusal.Log
	tls       *tlsconf.Store
	checker   *guard.Checker
	guesses   *ratelimit.Table // wrong passwords by client address
	penalties penalties
	marks     *marks.User
	stop      chan struct{} // closed by Close

	mu     sync.Mutex // one change at a time; no exchange takes it
	ports  *ports.Set[*worker]
	closed bool
}

// New returns an engine that serves nothing until Publish. Each loop counts in
// the shard of its position. log is told what is refused, and which backends
// go down and come back.
func New(loops []*loop.Loop, board *health.Board, segment *stats.Segment, log *slog.Logger) *Engine {
	e := &Engine{
		board: board, segment: segment, registry: state.New(len(loops)),
		log: log, refusals: refusal.New(log, len(loops), refused.Names[:]...),
		tls: tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}), checker: guard.NewChecker(), guesses: ratelimit.NewTable(),
		penalties: penalties{ratelimit.NewTable()},
		marks:     marks.NewUser("l7", loop.CanMark), stop: make(chan struct{}),
	}
	e.compiler = table.NewCompiler(e.registry, board, e.tls)
	for i, l := range loops {
		e.workers = append(e.workers, newWorker(e, l, segment.Shard(i), e.refusals.Recorder(i)))
		e.workers[i].index = i
	}
	segment.NameClasses(refused.Names[:]...)
	e.ports = ports.New(e.workers)
	e.table.Store(&table.Table{})
	e.prober = revive.New(loops, board, log)
	e.ejections = newEjections(e)
	go e.beside()
	return e
}

// Close stops looking after backends that are down and writes the last lines.
// The loops are the caller's.
func (e *Engine) Close() {
	e.mu.Lock()
	before := e.closed
	e.closed = true
	e.mu.Unlock()
	if before {
		return
	}
	close(e.stop)
	e.prober.Close()
	e.checker.Close()
	e.refusals.Close()
}

// Generation is the number of the table in use; 0 before the first.
func (e *Engine) Generation() uint64 { return e.table.Load().Generation }

// Publish makes a configuration the one new exchanges begin with. opened holds
// one listening socket per loop for each address the engine has none for yet.
// An error means that nothing changed. Farms that cannot be served are named
// in problems; they are refused as a whole unless the engine has no table yet,
// when the others must not wait for them.
func (e *Engine) Publish(generation uint64, cfg *farm.Config, opened map[string][]*os.File) (problems map[uint32]string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.Generation() == 0
	missing := e.marks.Prepare(kindsOf(cfg), first)
	defer func() { e.marks.Keep(e.table.Load().Kinds()) }()
	t, bad := e.compiler.Compile(generation, first, cfg, missing)
	if len(bad) > 0 && !first {
		return nil, errors.Join(slices.Collect(maps.Values(bad))...)
	}
	problems = map[uint32]string{}
	for id, err := range bad {
		problems[id] = err.Error()
	}
	t.Build.Commit()
	warn(e.log, t.Build)
	e.adopt(t)
	e.assign(t)
	closed := e.unlisten(t) // first: who comes in meanwhile is for who listens next
	before := e.table.Swap(t)
	t.DropCut(before)
	t.Fix(e.registry)
	for id, f := range t.Farms {
		if err := e.ports.Listen(f.Listener, opened[f.Listener.Key()]); err != nil {
			problems[id] = err.Error()
		}
	}
	for _, p := range closed {
		p.Grace = defaultGrace
		if f := before.Farm(p); f != nil {
			p.Grace = f.Grace
		}
		time.AfterFunc(p.Grace, e.expel)
	}
	e.ports.OnLoops(func(w *worker) { w.settle(t) })
	e.registry.Open()
	e.registry.Stir()
	e.registry.Retain(cfg)
	e.prober.Retain(t.Reached())
	e.ejections.inherit(t)
	return problems, nil
}

// adopt claims the shared slots of all farms and backends: one that belonged
// to another owner before starts from nothing.
func (e *Engine) adopt(t *table.Table) {
	for id := range t.Farms {
		e.segment.AdoptFarm(id, uint64(id))
	}
	for id := range t.Backends {
		e.segment.AdoptBackend(id, uint64(id))
		e.board.Adopt(id, uint64(id))
	}
}

// Drain stops accepting and lets what is under way end, until all clients are
// gone or the time is up.
func (e *Engine) Drain(grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &table.Table{Generation: e.Generation(), Backends: e.table.Load().Backends}
	e.table.Store(t)
	e.unlisten(t)
	e.ports.Idle(grace, func(w *worker) (busy int) {
		w.settle(t)
		w.loop.Each(func(c *loop.Conn) {
			switch c.Handler().(type) {
			case *client, *multiplex, nil: // nil: its last answer is still on the way
				busy++
			}
		})
		return busy
	})
}
