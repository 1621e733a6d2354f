package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Engine is one connection to an engine; *link.Client implements it.
type Engine interface {
	Hello() link.Hello
	Publish(ctx context.Context, snapshot *os.File, opened map[string][]*os.File) (link.Ack, error)
	Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error)
	Session(ctx context.Context, service uint32, key []byte) (s link.Session, ok bool, err error)
	ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error)
	Explain(ctx context.Context, q explain.Question) (*explain.Explanation, error)
	Connections(ctx context.Context, backends []uint32, limit int) (total int, list []link.Connection, err error)
	EndConnections(ctx context.Context, backends []uint32) (ended int, err error)
	Stacks(ctx context.Context) (text string, err error)
	Done() <-chan struct{}
	Close() error
}

// Opener opens listeners; *ctl.Client implements it.
type Opener interface {
	Open(ctx context.Context, key string, count int) ([]*os.File, error)
	Close(ctx context.Context, key string) error
	// Probe returns the error that Open would return, or nil.
	Probe(ctx context.Context, key string) error
	List(ctx context.Context) ([]string, error)
	// Connection returns a number that grows with each restart of netd.
	Connection(ctx context.Context) uint64
	// Adopt returns sockets to netd that it opened before its restart.
	Adopt(ctx context.Context, key string, fds []int) error
}

// Places is the GeoIP table in sealed memory and the key that identifies its version;
// *geoip.Store implements it.
type Places interface {
	Key() string
	Memory() (key string, file *os.File, err error)
}

// Options are the dependencies of a Publisher. Kernel, KernelSessions, Complete, Places and
// Kinds are optional.
type Options struct {
	// Dial connects to the engine and returns after its greeting.
	Dial func(ctx context.Context) (Engine, error)
	Netd Opener
	// Kernel installs kernel farms; with nil these farms have a problem.
	Kernel Kernel
	// KernelSessions stores the sessions of kernel farms. With nil, a farm that changes its
	// data path starts without sessions.
	KernelSessions SessionStore
	// Complete returns the copy of a configuration that is published: it includes the
	// certificates and authorities that farms name. A farm that needs a missing one is stopped
	// in the copy. The second result has the reason by farm ID. With nil the configuration is
	// published unchanged.
	Complete func(cfg *farm.Config) (*farm.Config, map[uint32]string)
	Page     *snapshot.Page
	// Places is the GeoIP table for the engine; nil means none.
	Places Places
	// Kinds is the shared memory from which netd reads the permitted kinds of sockets with a
	// mark; nil if no such sockets are created.
	Kinds *marks.Published
	Log   *slog.Logger
}

// Timeouts of a publication for each partner. An engine gets timePerMiB more for each MiB of
// its snapshot. A zone with a million records has 30 MiB and takes a second of CPU time, much
// longer on a busy machine.
const (
	engineTimeout = 5 * time.Second
	timePerMiB    = time.Second
	tidyTimeout   = time.Second
)

// Publisher publishes configurations; create it with New.
type Publisher struct {
	options Options
	turn    chan struct{} // holds one token during a publication
	writer  snapshot.Writer
	read    reading // guarded by turn, as are the next three
	needs   farm.Memo[needs]
	needed  keySets
	tidied  sockets
	opened  atomic.Uint64 // number of sockets requested from netd
	spares  spares

	// Snapshots for netd, guarded by turn.
	kernelFarms  farm.Memo[kernelFarm]
	kernelWriter snapshot.Writer
	kernelRead   uint64 // generation that netd read last, 0 if unknown

	mu       sync.Mutex // guards the fields below
	engine   Engine     // nil while none is connected
	hello    link.Hello
	attached chan struct{}      // closed when engine is set, replaced when it disconnects
	holds    keySet             // listeners of the engine
	held     keySets            // builds holds
	number   uint64             // last generation used
	problems map[uint32]string  // of the last acknowledged publication
	pending  []string           // keys that could not be opened in it
	kernel   carried            // last state requested from netd
	keeps    map[uint32]keeping // of the last acknowledged publication
	kinds    []marks.Kind       // of it too
}

// New returns a Publisher without an engine; Run connects to one.
func New(o Options) *Publisher {
	p := &Publisher{options: o, turn: make(chan struct{}, 1), attached: make(chan struct{})}
	if o.Kinds != nil {
		p.kinds, _, _ = o.Kinds.List() // those of the previous mgmt, which the engine still uses
	}
	return p
}

// State is the known state of the engine.
type State struct {
	Connected bool
	// Hello is the engine's last greeting, the zero value before the first.
	Hello link.Hello
}

// State returns the state of the connection. It never blocks.
func (p *Publisher) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Connected: p.engine != nil, Hello: p.hello}
}

// Sessions returns the persistence sessions of a service from the engine
// (link.Client.Sessions). It is safe for concurrent use and does not delay publications.
// Without an engine it returns apply.ErrUnavailable at once.
func (p *Publisher) Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, nil, fmt.Errorf("ask for sessions: %w", err)
	}
	return engine.Sessions(ctx, service, limit)
}

// Session returns the session of one key from the engine. See Sessions for concurrency and
// errors.
func (p *Publisher) Session(ctx context.Context, service uint32, key []byte) (s link.Session, ok bool, err error) {
	engine, err := p.present()
	if err != nil {
		return link.Session{}, false, fmt.Errorf("ask for a session: %w", err)
	}
	return engine.Session(ctx, service, key)
}

// ChangeSessions changes sessions in the engine (link.Client.ChangeSessions). See Sessions for
// concurrency and errors.
func (p *Publisher) ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, fmt.Errorf("change sessions: %w", err)
	}
	return engine.ChangeSessions(ctx, change)
}

// Explain returns the engine's decision for a request without sending it (link.Client.Explain).
// See Sessions for concurrency and errors.
func (p *Publisher) Explain(ctx context.Context, q explain.Question) (*explain.Explanation, error) {
	engine, err := p.present()
	if err != nil {
		return nil, fmt.Errorf("explain a request: %w", err)
	}
	return engine.Explain(ctx, q)
}

// Connections returns connections of l4xnat farms from the engine (link.Client.Connections).
// See Sessions for concurrency and errors.
func (p *Publisher) Connections(ctx context.Context, backends []uint32, limit int) (total int, list []link.Connection, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, nil, fmt.Errorf("ask for connections: %w", err)
	}
	return engine.Connections(ctx, backends, limit)
}

// EndConnections ends connections of l4xnat farms (link.Client.EndConnections). See Sessions
// for concurrency and errors.
func (p *Publisher) EndConnections(ctx context.Context, backends []uint32) (ended int, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, fmt.Errorf("end connections: %w", err)
	}
	return engine.EndConnections(ctx, backends)
}

// Stacks returns the goroutine stacks of the engine. See Sessions for concurrency and errors.
func (p *Publisher) Stacks(ctx context.Context) (text string, err error) {
	engine, err := p.present()
	if err != nil {
		return "", fmt.Errorf("ask for stacks: %w", err)
	}
	return engine.Stacks(ctx)
}

// present returns the connected engine, else apply.ErrUnavailable.
func (p *Publisher) present() (Engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.engine == nil {
		return nil, apply.ErrUnavailable
	}
	return p.engine, nil
}

// Publish implements apply.Publisher.
func (p *Publisher) Publish(ctx context.Context, cfg *farm.Config) (apply.Outcome, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return apply.Outcome{}, ctx.Err()
	}
	engine, err := p.await(ctx)
	if err != nil {
		return apply.Outcome{}, err
	}
	cfg, missing := p.complete(cfg)
	all := p.needs.Of(cfg.Farms, needsOf)
	kinds := kindsOf(all)
	if err := p.leave(kinds); err != nil {
		return apply.Outcome{}, err
	}
	ls := p.listeners(ctx, cfg, all)
	defer ls.close()
	p.addPlaces(ls)
	generation := p.next()
	moves := p.pack(ctx, engine, cfg)
	ls.addKernel(cfg, p.carry(ctx, generation, cfg))
	maps.Copy(ls.problems, missing)
	ack, err := p.hand(ctx, engine, generation, cfg, ls)
	if err != nil {
		return apply.Outcome{}, err
	}
	if ack.Refused != "" {
		p.restore()
		p.tidied = sockets{}
		p.spares.retain(ls.before.has)
		p.tidy(ctx, ls.before.has)
		return apply.Outcome{}, &apply.Refused{Reason: "the engine refused the configuration: " + ack.Refused, Farms: ack.Farms}
	}
	for id, problem := range ack.Farms {
		if ls.problems[id] == "" { // netd knows the cause, the engine only that sockets are missing
			ls.problems[id] = problem
		}
	}
	p.unpack(ctx, moves)
	p.commit(cfg, ls, ack)
	p.takeBack(kinds)
	p.tidyAfter(ctx, ls)
	return apply.Outcome{Generation: generation, FarmErrors: ls.problems, Absent: ls.absent}, nil
}

// complete returns cfg with its certificates. The result holds private keys: it goes only into
// the sealed memory for the engine.
func (p *Publisher) complete(cfg *farm.Config) (*farm.Config, map[uint32]string) {
	if p.options.Complete == nil {
		return cfg, nil
	}
	return p.options.Complete(cfg)
}

// await returns the engine; it waits up to engineTimeout for one that restarts.
func (p *Publisher) await(ctx context.Context) (Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	for {
		p.mu.Lock()
		engine, attached := p.engine, p.attached
		p.mu.Unlock()
		if engine != nil {
			return engine, nil
		}
		select {
		case <-attached:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it did not start within %v", apply.ErrUnavailable, engineTimeout)
		}
	}
}

// next returns the generation after the highest one known here or to the engine.
func (p *Publisher) next() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number = max(p.number, p.hello.Generation) + 1
	return p.number
}

// commit records the state after an acknowledged publication and logs new problems of farms.
func (p *Publisher) commit(cfg *farm.Config, ls *listeners, ack link.Ack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = p.held.of([][]string{ack.Listeners})
	p.keeps = keepings(cfg)
	p.pending = ls.missing
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if problem := ls.problems[f.ID]; problem != "" && problem != p.problems[f.ID] {
			p.options.Log.Warn("farm does not run", "farm", f.Name, "reason", problem)
		}
	}
	p.problems = maps.Clone(ls.problems)
}

// open has netd open the sockets of a key.
func (p *Publisher) open(ctx context.Context, key string, count int) ([]*os.File, error) {
	defer p.opened.Add(1) // afterwards: a list without them is older than the number
	return p.options.Netd.Open(ctx, key, count)
}

// tidyAfter closes the sockets that no farm needs after an acknowledged publication. It does
// nothing if the needs are the same as the last time and no sockets were opened.
func (p *Publisher) tidyAfter(ctx context.Context, ls *listeners) {
	p.mu.Lock()
	holds := p.holds
	p.mu.Unlock()
	now := sockets{needed: ls.needed.version, held: holds.version, opened: p.opened.Load()}
	if now == p.tidied {
		return
	}
	p.tidied = sockets{}
	p.spares.retain(ls.needed.has)
	if p.tidy(ctx, ls.needed.has) && holds.covers(ls.needed) {
		p.tidied = now
	}
}

// tidy has netd close all sockets that are not in needed, and reports success.
func (p *Publisher) tidy(ctx context.Context, needed map[string]bool) bool {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	held, err := p.options.Netd.List(ctx)
	for _, key := range held {
		if !needed[key] {
			err = errors.Join(err, p.options.Netd.Close(ctx, key))
		}
	}
	if err != nil {
		p.options.Log.Warn("listeners that no farm uses were not closed; the next change tries again", "error", err)
	}
	return err == nil
}

func setOf(keys []string) map[string]bool {
	set := make(map[string]bool, len(keys))
	for _, k := range keys {
		set[k] = true
	}
	return set
}

var _ Opener = (*ctl.Client)(nil)
