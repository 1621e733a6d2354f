package proxy

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/guard"
)

const (
	modeInUse = farm.MaintenanceOff
	modeDrain = farm.MaintenanceDrain
	modeCut   = farm.MaintenanceCut
)

// defaultGrace is how long the exchanges and tunnels of a farm that was stopped
// or deleted may go on, unless the farm says otherwise.
const defaultGrace = time.Duration(farm.DefaultStopGrace) * time.Second

// Engine carries the traffic of all http farms on the given loops.
type Engine struct {
	table     atomic.Pointer[table]
	workers   []*worker
	board     *health.Board
	segment   *stats.Segment
	registry  *registry
	prober    *revive.Prober
	ejections *ejections
	log       *slog.Logger
	refusals  *refusal.Log
	tls       *tlsconf.Store
	checker   *guard.Checker
	guesses   *ratelimit.Table // wrong passwords by client address
	marks     *marks.User
	stop      chan struct{} // closed by Close

	mu     sync.Mutex // one change at a time; no exchange takes it
	ports  map[string]*port
	closed bool
}

// port is one listener address. Its number stays the same as long as the
// engine runs, so that a client finds its farm in any table.
type port struct {
	number int
	key    string
	open   bool
	closed time.Time     // when it was last
	grace  time.Duration // of the farm that was there
}

// ListenerKey names the listener of an address, as netd and mgmt name it too.
func ListenerKey(a netip.AddrPort) string { return "tcp/" + a.String() }

// New returns an engine that serves nothing until Publish. Each loop counts in
// the shard of its position. log is told what is refused, and which backends
// go down and come back.
func New(loops []*loop.Loop, board *health.Board, segment *stats.Segment, log *slog.Logger) *Engine {
	e := &Engine{
		board: board, segment: segment, registry: newRegistry(len(loops)), ports: map[string]*port{},
		log: log, refusals: refusal.New(log, len(loops), classNames[:]...),
		tls: tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}), checker: guard.NewChecker(), guesses: ratelimit.NewTable(),
		marks: marks.NewUser("l7", loop.CanMark), stop: make(chan struct{}),
	}
	for i, l := range loops {
		e.workers = append(e.workers, newWorker(e, l, segment.Shard(i), e.refusals.Recorder(i)))
		e.workers[i].index = i
	}
	segment.NameClasses(classNames[:]...)
	e.table.Store(&table{})
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

// farm is the farm a port's new exchange begins with, nil when there is none.
func (e *Engine) farm(p *port) *farmTable { return e.table.Load().farm(p) }

func (t *table) farm(p *port) *farmTable {
	if p.number < len(t.farms) {
		return t.farms[p.number]
	}
	return nil
}

// Listeners lists the keys the engine has sockets for.
func (e *Engine) Listeners() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var keys []string
	for key, p := range e.ports {
		if p.open {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Generation is the number of the table in use; 0 before the first.
func (e *Engine) Generation() uint64 { return e.table.Load().generation }

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
	defer func() { e.marks.Keep(e.table.Load().kinds()) }()
	t, bad := e.compile(generation, cfg, missing)
	if len(bad) > 0 && !first {
		return nil, errors.Join(slices.Collect(maps.Values(bad))...)
	}
	problems = map[uint32]string{}
	for id, err := range bad {
		problems[id] = err.Error()
	}
	t.build.Commit()
	warn(e.log, t.build)
	e.adopt(t)
	e.assign(t)
	closed := e.unlisten(t) // first: who comes in meanwhile is for who listens next
	before := e.table.Swap(t)
	t.dropCut(before)
	e.registry.fix(t)
	for id, f := range t.byID {
		if err := e.listen(f.key, opened[f.key]); err != nil {
			problems[id] = err.Error()
		}
	}
	for _, p := range closed {
		p.grace = defaultGrace
		if f := before.farm(p); f != nil {
			p.grace = f.grace
		}
		time.AfterFunc(p.grace, e.expel)
	}
	e.onLoops(func(w *worker) { w.settle(t) })
	e.registry.open()
	e.registry.stir()
	e.registry.retain(cfg)
	e.prober.Retain(t.reached())
	e.ejections.inherit(t)
	return problems, nil
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

// assign puts each farm at its port's number.
func (e *Engine) assign(t *table) {
	for _, f := range t.byID {
		p := e.ports[f.key]
		if p == nil {
			p = &port{number: len(e.ports), key: f.key}
			e.ports[f.key] = p
		}
		for p.number >= len(t.farms) {
			t.farms = append(t.farms, nil)
		}
		t.farms[p.number] = f
	}
}

// listen starts accepting on an address the engine has no socket for.
func (e *Engine) listen(key string, files []*os.File) error {
	p := e.ports[key]
	if p.open {
		return nil
	}
	if len(files) != len(e.workers) {
		return fmt.Errorf("%s: %d sockets for %d loops", key, len(files), len(e.workers))
	}
	var mu sync.Mutex
	var failed error
	i := atomic.Int32{}
	e.onLoops(func(w *worker) {
		d := &door{w: w, port: p}
		ln, err := w.loop.Listen(files[i.Add(1)-1], func(c *loop.Conn) { w.accept(d, c) })
		if err == nil {
			d.listener = ln
			ln.Guard(d)
			err = ln.Defer()
		}
		if err != nil {
			mu.Lock()
			failed = fmt.Errorf("%s: %w", key, err)
			mu.Unlock()
			return
		}
		w.listeners[key] = ln
	})
	p.open = true
	if failed != nil {
		e.closeListener(p)
	}
	return failed
}

// unlisten stops accepting where no farm of t listens, and lists these places.
func (e *Engine) unlisten(t *table) (closed []*port) {
	for _, p := range e.ports {
		if p.open && t.farm(p) == nil {
			e.closeListener(p)
			closed = append(closed, p)
		}
	}
	return closed
}

// expel ends what is left of the farms whose grace is over; others may have
// been stopped since. It waits for no loop: they may end before the grace does,
// and then nothing is left.
func (e *Engine) expel() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	over := map[*port]bool{}
	for _, p := range e.ports {
		if !p.open && time.Since(p.closed) >= p.grace {
			over[p] = true
		}
	}
	for _, w := range e.workers {
		w.loop.Post(func() { w.expel(over) })
	}
}

func (e *Engine) closeListener(p *port) {
	p.open, p.closed = false, time.Now()
	e.onLoops(func(w *worker) {
		if ln := w.listeners[p.key]; ln != nil {
			ln.Close()
			delete(w.listeners, p.key)
		}
	})
}

// Drain stops accepting and lets what is under way end, until all clients are
// gone or the time is up.
func (e *Engine) Drain(grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &table{generation: e.Generation(), backends: e.table.Load().backends}
	e.table.Store(t)
	e.unlisten(t)
	for end := time.Now().Add(grace); ; time.Sleep(20 * time.Millisecond) {
		var busy atomic.Int64
		e.onLoops(func(w *worker) {
			w.settle(t)
			w.loop.Each(func(c *loop.Conn) {
				switch c.Handler().(type) {
				case *client, *multiplex, nil: // nil: its last answer is still on the way
					busy.Add(1)
				}
			})
		})
		if busy.Load() == 0 || time.Now().After(end) {
			return
		}
	}
}

// onLoops runs fn for each worker on its loop and waits for all.
func (e *Engine) onLoops(fn func(*worker)) {
	var wg sync.WaitGroup
	for _, w := range e.workers {
		wg.Add(1)
		w.loop.Post(func() {
			defer wg.Done()
			fn(w)
		})
	}
	wg.Wait()
}
