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
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Publisher brings a whole configuration to the engines and netd.
type Publisher interface {
	// Publish returns when the configuration is in force or refused, and soon after ctx ends.
	// cfg is read-only, also afterwards. The error is *Refused if an engine or netd refused and
	// the previous configuration is in force, and ErrUnavailable if the engine was not reached.
	// After any other error the configuration in force is unknown.
	Publish(ctx context.Context, cfg *farm.Config) (Outcome, error)
}

// Checker is a Publisher that can predict the problems of farms.
type Checker interface {
	// Check calls judge with the problems of farms that are known before anything changes, and
	// returns its error. If it returns an error or skips judge, nothing has changed.
	Check(ctx context.Context, cfg *farm.Config, judge func(Outcome) error) error
}

// Prober is a Publisher that can test whether a farm could listen, without opening sockets.
type Prober interface {
	// Probe returns the reason why a farm cannot listen now, or "" if it can or the reason is
	// unknown. absent means that only the address is missing on this machine.
	Probe(ctx context.Context, f *farm.Farm) (problem string, absent bool)
}

// Outcome is the result of an acknowledged publication.
type Outcome struct {
	Generation uint64
	// FarmErrors has the problems of farms that do not run, by farm ID. One farm's problem does
	// not affect the others.
	FarmErrors map[uint32]string
	// Absent are the farms of FarmErrors that lack only their address, e.g. on a standby. They
	// start when it appears.
	Absent map[uint32]bool
}

// Author is the user who makes a change, and the interface: api, cli, file …
type Author struct{ Name, Source string }

// Result is the result of a change.
type Result struct {
	Config   *farm.Config   // in force now; read-only
	Before   *farm.Config   // in force before; read-only, nil unless a change was prepared
	Revision store.Revision // the newest; without Diff
	// Unchanged means that the change makes no difference: nothing was published or written.
	Unchanged bool
	// Diff is the unified diff of the documents.
	Diff string
	// Warnings are about settings that are allowed but cannot work.
	Warnings []field.Error
	// Takeovers are the Warnings about ports of this machine that a farm takes over.
	Takeovers []field.Error
	// FarmErrors are the problems of the farms after the publication.
	FarmErrors map[uint32]string
	// Absent are the farms of FarmErrors that start once this machine has their address.
	Absent map[uint32]bool
	// Pending is set if the change is reverted unless it is confirmed.
	Pending *Pending

	found     map[resolve.Question][]resolve.Target // targets of the names that were resolved
	unsettled bool                                  // Settle is due
}

// Applier is the only writer of a store. Its methods are safe for concurrent use.
type Applier struct {
	store     *store.Store
	pub       Publisher
	rules     validate.Rules
	listeners func() ([]Listener, error) // nil: unknown
	names     Names
	log       *slog.Logger
	busy      func(backend uint32) bool // reports open connections; nil: unknown
	file      func() string             // nil: there is none
	timeout   time.Duration             // of one publication
	told      func(old, now *farm.Config, rev store.Revision)
	clock     func() time.Time
	onEnded   func(Ended)
	// references is nil if names are not checked.
	references References
	secrets    Secrets // nil: secrets are refused
	// delegation queries the parent zone; nil disables these queries.
	delegation func(ctx context.Context, zone string) (resolve.Delegation, error)
	machines   []Machine

	turn     chan struct{} // holds one token while a change is written
	settling chan struct{} // holds one token during Settle
	now      atomic.Pointer[state]
	problems atomic.Pointer[map[uint32]string]
	absent   atomic.Pointer[map[uint32]bool] // the farms of problems that lack only their address
	refused  atomic.Pointer[map[uint32]refusedStart]
	// unsettled has the machine settings that could not be applied, by section.
	unsettled atomic.Pointer[map[string]string]
	inSync    atomic.Bool
	pending   atomic.Pointer[Pending]
	ended     atomic.Pointer[Ended]
	signal    chan struct{} // holds one token after pending changed

	// back is the effect of the pending change, guarded by turn; nil means not loaded yet.
	back *wayBack

	settled settledFarms // guarded by turn

	// State of RefreshNames, guarded by turn: the time since when parts have been draining, by
	// ID, and the reasons why addresses of names are not used.
	left     map[uint32]time.Time
	badNames map[resolve.Question]string

	versions versions

	// Caches of farms that did not change (share).
	usable  farm.Usable // guarded by turn
	checked validate.Checked
	texts   document.Texts
}

// state is the configuration in force. It may have newer addresses of host names than the
// revision in the store.
type state struct {
	cfg *farm.Config
	rev store.Revision
}

// Option configures an Applier.
type Option func(*Applier)

// WithRules sets the rules; the default is all rules with this machine's networks.
func WithRules(r validate.Rules) Option { return func(a *Applier) { a.rules = r } }

// WithNames sets the resolver of backend names; the default is the system's resolver.
func WithNames(n Names) Option { return func(a *Applier) { a.names = n } }

// WithFile sets a function that returns the path of the file that replaces the configuration at
// the next start or reload, or "" if there is none. With a file, any other change warns of
// this.
func WithFile(path func() string) Option { return func(a *Applier) { a.file = path } }

// WithBusy sets a function that reports open connections to a backend. A backend whose address
// disappeared from its name is kept while it has connections.
func WithBusy(busy func(backend uint32) bool) Option { return func(a *Applier) { a.busy = busy } }

// WithLog sets the log for events that no caller requested; the default discards them.
func WithLog(log *slog.Logger) Option { return func(a *Applier) { a.log = log } }

// WithTimeout sets the limit of each publication; the default is 20 s. A failed change takes at
// most twice as long because the old configuration is published again.
func WithTimeout(d time.Duration) Option { return func(a *Applier) { a.timeout = d } }

// WithTold sets a function that is called for each change in force and stored. Its arguments
// are the previous and the new configuration, both read-only, and the revision. It runs under
// the write lock and must return at once.
func WithTold(told func(old, now *farm.Config, rev store.Revision)) Option {
	return func(a *Applier) { a.told = told }
}

// WithClock sets the clock; the default is time.Now.
func WithClock(now func() time.Time) Option { return func(a *Applier) { a.clock = now } }

// WithEnded sets a function that is called when a pending change was confirmed or reverted. It
// must not wait for other changes.
func WithEnded(tell func(Ended)) Option { return func(a *Applier) { a.onEnded = tell } }

// New returns an Applier with the store's current configuration. It does not publish: call
// Republish when the engine is connected.
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
	cfg = cfg.CloneWith(func(f *farm.Farm) bool { return !f.Numbered() }) // an older release stored no numbers
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

// Current returns the configuration in force, read-only and shared, and its revision. It never
// blocks.
func (a *Applier) Current() (*farm.Config, store.Revision) {
	now := a.now.Load()
	return now.cfg, now.rev
}

// Problems returns the reasons why farms do not run, by farm ID, as of the last publication.
func (a *Applier) Problems() map[uint32]string { return maps.Clone(*a.problems.Load()) }

// Standing is the state of the farms in force besides their configuration. It is comparable and
// differs after each change of Problems, RefusedStarts or InSync.
type Standing struct {
	problems *map[uint32]string
	refused  *map[uint32]refusedStart
	inSync   bool
}

// InSync returns Applier.InSync as of that time.
func (s Standing) InSync() bool { return s.inSync }

// Standing returns the current state. It never blocks.
func (a *Applier) Standing() Standing {
	return Standing{a.problems.Load(), a.refused.Load(), a.inSync.Load()}
}

// InSync reports whether the engines acknowledged the current configuration last. While it is
// false, Republish is due.
func (a *Applier) InSync() bool { return a.inSync.Load() }

// lock waits for the turn to write.
func (a *Applier) lock(ctx context.Context) error {
	if DraftOf(ctx) != nil { // its transaction has the turn
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
