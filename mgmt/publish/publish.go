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

// Engine is one connection to an engine; *link.Client is one.
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

// Opener opens listeners; *ctl.Client is one.
type Opener interface {
	Open(ctx context.Context, key string, count int) ([]*os.File, error)
	Close(ctx context.Context, key string) error
	// Probe returns why Open would be refused, nil if it would not be.
	Probe(ctx context.Context, key string) error
	List(ctx context.Context) ([]string, error)
	// Connection returns a number that grows with each restart of netd.
	Connection(ctx context.Context) uint64
	// Adopt gives back sockets that were opened in an earlier life.
	Adopt(ctx context.Context, key string, fds []int) error
}

// Places is the sealed memory of a table of places, by the name that tells it from others;
// *geoip.Store is one.
type Places interface {
	Key() string
	Memory() (key string, file *os.File, err error)
}

// Options is what a Publisher works with; all fields but Kernel, KernelSessions,
// Complete, Places and Kinds must be set.
type Options struct {
	// Dial connects to the engine and returns when it has greeted.
	Dial func(ctx context.Context) (Engine, error)
	Netd Opener
	// Kernel carries the farms that are the kernel's; without it they have a
	// problem.
	Kernel Kernel
	// KernelSessions are those of its farms; without it a farm that goes from one
	// data path to another begins without sessions.
	KernelSessions SessionStore
	// Complete makes what is published of a configuration: a copy that holds
	// the certificates and authorities its farms name. A farm that cannot run
	// without one that is missing is stopped in the copy, and the second result
	// tells why by farm ID. nil publishes the configuration as it is.
	Complete func(cfg *farm.Config) (*farm.Config, map[uint32]string)
	Page     *snapshot.Page
	// Places is the table of places the engine is to have; nil gives it none.
	Places Places
	// Kinds is where netd reads which sockets with a mark farms need; nil when
	// nobody makes any.
	Kinds *marks.Published
	Log   *slog.Logger
}

// How long a publication waits for each of its partners. An engine gets timePerMiB on top
// for each MiB of its snapshot: a zone of a million records has 30, and takes it a second of
// CPU time, which is much longer on a busy machine.
const (
	engineTimeout = 5 * time.Second
	timePerMiB    = time.Second
	tidyTimeout   = time.Second
)

// Publisher publishes configurations; make it with New.
type Publisher struct {
	options Options
	turn    chan struct{} // holds one token during a publication
	writer  snapshot.Writer
	read    reading // guarded by turn, as are the next three
	needs   farm.Memo[needs]
	needed  keySets
	tidied  sockets
	opened  atomic.Uint64 // how many sockets netd was asked for
	spares  spares

	mu       sync.Mutex // guards what follows
	engine   Engine     // nil while there is none
	hello    link.Hello
	attached chan struct{}      // closed when engine is set, renewed when it goes
	holds    keySet             // listeners the engine has
	held     keySets            // makes holds
	number   uint64             // last generation used
	problems map[uint32]string  // of the last acknowledged publication
	pending  []string           // keys that could not be opened then
	kernel   carried            // what netd was told
	keeps    map[uint32]keeping // of the last acknowledged publication
	kinds    []marks.Kind       // of it too
}

// New returns a Publisher without an engine; start Run to get one.
func New(o Options) *Publisher {
	p := &Publisher{options: o, turn: make(chan struct{}, 1), attached: make(chan struct{})}
	if o.Kinds != nil {
		p.kinds, _, _ = o.Kinds.List() // of the mgmt before this one, which the engine goes by still
	}
	return p
}

// State is what is known of the engine.
type State struct {
	Connected bool
	// Hello is the engine's last greeting, the zero value before the first.
	Hello link.Hello
}

// State returns the state of the connection. It never waits.
func (p *Publisher) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Connected: p.engine != nil, Hello: p.hello}
}

// Sessions asks the engine for the persistence sessions of a service, as
// link.Client.Sessions does. Any goroutine may ask at any time; nobody who
// publishes waits for it. apply.ErrUnavailable while there is no engine: it is
// not waited for.
func (p *Publisher) Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, nil, fmt.Errorf("ask for sessions: %w", err)
	}
	return engine.Sessions(ctx, service, limit)
}

// Session asks the engine for the session of one key, under the terms of
// Sessions.
func (p *Publisher) Session(ctx context.Context, service uint32, key []byte) (s link.Session, ok bool, err error) {
	engine, err := p.present()
	if err != nil {
		return link.Session{}, false, fmt.Errorf("ask for a session: %w", err)
	}
	return engine.Session(ctx, service, key)
}

// ChangeSessions has the engine change sessions, as link.Client.ChangeSessions
// does, under the terms of Sessions.
func (p *Publisher) ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, fmt.Errorf("change sessions: %w", err)
	}
	return engine.ChangeSessions(ctx, change)
}

// Explain asks the engine what would become of a request, as
// link.Client.Explain does, under the terms of Sessions.
func (p *Publisher) Explain(ctx context.Context, q explain.Question) (*explain.Explanation, error) {
	engine, err := p.present()
	if err != nil {
		return nil, fmt.Errorf("explain a request: %w", err)
	}
	return engine.Explain(ctx, q)
}

// Connections asks the engine for connections of l4xnat farms, as
// link.Client.Connections does, under the terms of Sessions.
func (p *Publisher) Connections(ctx context.Context, backends []uint32, limit int) (total int, list []link.Connection, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, nil, fmt.Errorf("ask for connections: %w", err)
	}
	return engine.Connections(ctx, backends, limit)
}

// EndConnections has the engine end connections of l4xnat farms, as
// link.Client.EndConnections does, under the terms of Sessions.
func (p *Publisher) EndConnections(ctx context.Context, backends []uint32) (ended int, err error) {
	engine, err := p.present()
	if err != nil {
		return 0, fmt.Errorf("end connections: %w", err)
	}
	return engine.EndConnections(ctx, backends)
}

// Stacks asks what the engine is doing, under the terms of Sessions.
func (p *Publisher) Stacks(ctx context.Context) (text string, err error) {
	engine, err := p.present()
	if err != nil {
		return "", fmt.Errorf("ask for stacks: %w", err)
	}
	return engine.Stacks(ctx)
}

// present is the engine, if there is one now.
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
		if ls.problems[id] == "" { // the cause is known here, the engine sees only that sockets are missing
			ls.problems[id] = problem
		}
	}
	p.unpack(ctx, moves)
	p.commit(cfg, ls, ack)
	p.takeBack(kinds)
	p.tidyAfter(ctx, ls)
	return apply.Outcome{Generation: generation, FarmErrors: ls.problems, Absent: ls.absent}, nil
}

// complete adds the certificates. The result holds private keys: it goes into
// the sealed memory for the engine and nowhere else.
func (p *Publisher) complete(cfg *farm.Config) (*farm.Config, map[uint32]string) {
	if p.options.Complete == nil {
		return cfg, nil
	}
	return p.options.Complete(cfg)
}

// await returns the engine, waiting a while for one that is being restarted.
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

// next is the number after the highest one known here or to the engine.
func (p *Publisher) next() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number = max(p.number, p.hello.Generation) + 1
	return p.number
}

// commit keeps what the acknowledged publication left behind.
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
	defer p.opened.Add(1) // afterwards: a list that lacks them is older than the number
	return p.options.Netd.Open(ctx, key, count)
}

// tidyAfter closes what no farm needs after a publication was acknowledged. Nothing is to
// be done if farms need what they needed after the last time, and no sockets were opened.
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

// tidy makes netd close what is not among needed, and reports whether that is done.
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
