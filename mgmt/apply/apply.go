package apply

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Publisher brings a whole configuration to the engines and netd.
type Publisher interface {
	// Publish returns once the configuration is in force or refused. The
	// configuration is read-only, also afterwards. It must return soon after
	// ctx ends. Errors: *Refused when someone said no and the configuration
	// before it is in force; ErrUnavailable when the engine was not reached; any other
	// error means that it is not known which configuration is in force.
	Publish(ctx context.Context, cfg *farm.Config) (Outcome, error)
}

// Checker is a Publisher that can tell beforehand what farms would not run.
type Checker interface {
	// Check calls judge with the problems of farms that are known before anything
	// is changed, and returns its error. After an error, or if judge is not called,
	// everything is as it was.
	Check(ctx context.Context, cfg *farm.Config, judge func(Outcome) error) error
}

// Prober is a Publisher that can tell whether a farm could listen, and opens nothing.
type Prober interface {
	// Probe returns why a farm could not listen now, blank if it could or that cannot be
	// found out. absent: all it lacks is an address of this machine.
	Probe(ctx context.Context, f *farm.Farm) (problem string, absent bool)
}

// Outcome is what became of a publication that was acknowledged.
type Outcome struct {
	Generation uint64
	// FarmErrors holds, by farm ID, why single farms do not run; one bad farm
	// never stops the others.
	FarmErrors map[uint32]string
	// Absent are those of them that only lack their address: a standby has it later. They
	// begin to run when it appears.
	Absent map[uint32]bool
}

// Author is who changes something and through which door (api, cli, file …).
type Author struct{ Name, Source string }

// Result is what a change did.
type Result struct {
	Config   *farm.Config   // in force now; read-only
	Revision store.Revision // the newest; without Diff
	// Unchanged says that the document was already what the change wants;
	// nothing was published and no revision was written.
	Unchanged bool
	// Diff is the unified difference of the documents.
	Diff string
	// Warnings are about what is allowed but cannot work.
	Warnings []validate.Error
	// Takeovers are those of them about ports of this machine that a farm takes from now on.
	Takeovers []validate.Error
	// FarmErrors are the problems of the farms after the publication.
	FarmErrors map[uint32]string
	// Absent are those of them that run as soon as this machine has their address.
	Absent map[uint32]bool
	// Pending is set when the change goes back by itself unless it is confirmed.
	Pending *Pending

	found     map[resolve.Question][]resolve.Target // of names that were asked for
	unsettled bool                                  // the machine is to be told
}

// Applier is the one writer of a store. Its methods may be called by many
// goroutines.
type Applier struct {
	store     *store.Store
	pub       Publisher
	rules     validate.Rules
	listeners func() ([]Listener, error) // nil: not known
	names     Names
	log       *slog.Logger
	busy      func(backend uint32) bool // nil: not known
	file      func() string             // nil: there is none
	timeout   time.Duration             // of one publication
	told      func(old, now *farm.Config, rev store.Revision)
	clock     func() time.Time
	onEnded   func(Ended)
	// references is nil when every name is believed.
	references References
	secrets    Secrets // nil: none are taken
	// delegation is nil when no parent zone is asked.
	delegation func(ctx context.Context, zone string) (resolve.Delegation, error)
	machines   []Machine

	turn     chan struct{} // holds one token while a change is written
	settling chan struct{} // holds one token while the machine is told
	now      atomic.Pointer[state]
	problems atomic.Pointer[map[uint32]string]
	absent   atomic.Pointer[map[uint32]bool] // of problems
	refused  atomic.Pointer[map[uint32]refusedStart]
	// unsettled is what the machine is not, by section of its settings.
	unsettled atomic.Pointer[map[string]string]
	inSync    atomic.Bool
	pending   atomic.Pointer[Pending]
	ended     atomic.Pointer[Ended]
	signal    chan struct{} // holds one token after pending changed

	// back is the way back of the pending change, under the turn to write; nil: not read.
	back *wayBack

	settled settledFarms // under the turn to write

	// What RefreshNames remembers, under the turn to write: since when parts have
	// been draining, by ID, and why addresses of names are not taken.
	left     map[uint32]time.Time
	badNames map[resolve.Question]string

	versions versions

	// What is remembered of farms that stay as they are (share).
	usable  farm.Usable // under the turn to write
	checked validate.Checked
	texts   document.Texts
}

// state is the configuration in force. It may know newer addresses of host
// names than the revision in the store.
type state struct {
	cfg *farm.Config
	rev store.Revision
}

// Option changes how an Applier works.
type Option func(*Applier)

// WithRules sets the rules; the default is all of them with this machine's networks.
func WithRules(r validate.Rules) Option { return func(a *Applier) { a.rules = r } }

// WithNames sets what knows backend names; by default the system is asked.
func WithNames(n Names) Option { return func(a *Applier) { a.names = n } }

// WithFile sets what returns the path of the file that replaces the configuration at the
// next start or reload; "" if there is none. Each other change warns of that.
func WithFile(path func() string) Option { return func(a *Applier) { a.file = path } }

// WithBusy sets what tells whether connections to a backend are open: one whose
// address left its name is kept for these.
func WithBusy(busy func(backend uint32) bool) Option { return func(a *Applier) { a.busy = busy } }

// WithLog sets where is said what no change asked for; nowhere by default.
func WithLog(log *slog.Logger) Option { return func(a *Applier) { a.log = log } }

// WithTimeout bounds each publication; the default is 10 s. A change that fails
// takes at most twice as long: the old configuration is published again.
func WithTimeout(d time.Duration) Option { return func(a *Applier) { a.timeout = d } }

// WithTold sets who is told of every change that is in force and stored: the
// configuration before, the one now, both read-only, and its revision. It is called
// while no other change is written, and must return at once.
func WithTold(told func(old, now *farm.Config, rev store.Revision)) Option {
	return func(a *Applier) { a.told = told }
}

// WithClock sets the clock; the default is time.Now.
func WithClock(now func() time.Time) Option { return func(a *Applier) { a.clock = now } }

// WithEnded sets what is told when a pending change was confirmed or went back.
// It must not wait for other changes.
func WithEnded(tell func(Ended)) Option { return func(a *Applier) { a.onEnded = tell } }

// New returns an Applier with the store's current configuration. It publishes
// nothing by itself: call Republish when the engine is there.
func New(st *store.Store, pub Publisher, options ...Option) *Applier {
	a := &Applier{store: st, pub: pub, timeout: 20 * time.Second, turn: make(chan struct{}, 1), settling: make(chan struct{}, 1),
		told: func(old, now *farm.Config, rev store.Revision) {}, rules: validate.Rules{Prefixes: validate.SystemPrefixes}, log: slog.New(slog.DiscardHandler),
		clock: time.Now, onEnded: func(Ended) {}, signal: make(chan struct{}, 1),
		left: map[uint32]time.Time{}, badNames: map[resolve.Question]string{}}
	a.names = resolve.New(resolve.Options{Lookup: resolve.System{}.Lookup})
	for _, option := range options {
		option(a)
	}
	a.checked.Rules = a.rules
	a.sealHistory()
	cfg, rev := st.Current()
	cfg = cfg.CloneWith(func(f *farm.Farm) bool { return !f.Numbered() }) // an older one may have none
	a.giveNumbers(cfg, cfg)
	a.versions = versions{start: rev.Number, of: map[uint32]uint64{}}
	a.now.Store(&state{cfg, rev})
	a.loadPending()
	a.problems.Store(&map[uint32]string{})
	a.absent.Store(&map[uint32]bool{})
	a.refused.Store(&map[uint32]refusedStart{})
	a.unsettled.Store(&map[string]string{})
	return a
}

// Current returns the configuration in force, read-only and shared, and its
// revision. It never waits.
func (a *Applier) Current() (*farm.Config, store.Revision) {
	now := a.now.Load()
	return now.cfg, now.rev
}

// Problems returns why single farms do not run, by farm ID, as of the last
// publication.
func (a *Applier) Problems() map[uint32]string { return maps.Clone(*a.problems.Load()) }

// Standing is what is known of the farms in force besides their configuration. It is
// comparable: another one after every change of Problems, RefusedStarts or InSync.
type Standing struct {
	problems *map[uint32]string
	refused  *map[uint32]refusedStart
	inSync   bool
}

// InSync is what Applier.InSync was.
func (s Standing) InSync() bool { return s.inSync }

// Standing returns what is known now. It never waits.
func (a *Applier) Standing() Standing {
	return Standing{a.problems.Load(), a.refused.Load(), a.inSync.Load()}
}

// InSync reports whether the engines acknowledged the current configuration
// last. While it is false, Republish is due.
func (a *Applier) InSync() bool { return a.inSync.Load() }

// lock waits for the turn to write.
func (a *Applier) lock(ctx context.Context) error {
	if DraftOf(ctx) != nil { // whose transaction has the turn
		return fmt.Errorf("what was asked for %w", ErrNoConfiguration)
	}
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: another change is still under way: %w", ErrUnavailable, ctx.Err())
	}
}

func (a *Applier) unlock() { <-a.turn }
