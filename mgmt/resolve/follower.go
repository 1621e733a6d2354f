package resolve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// tick is the interval of looking for due names. perTick bounds the names resolved in one
	// tick, atOnce the concurrent queries of followed names. Slow names (entry.slow) have the
	// limit slowAtOnce instead, because they must not delay the others.
	tick       = 500 * time.Millisecond
	perTick    = 50
	atOnce     = 16
	slowAtOnce = 64
	// manyFails is the number of failures in a row after which a name counts as slow.
	manyFails = 3
	// lookupTime limits the time of one query, with all its servers, attempts and aliases.
	// askedTime is the limit of queries by Ask, whose callers wait less long.
	lookupTime = 30 * time.Second
	askedTime  = 10 * time.Second
	// failureTime is the time for which Ask returns a failure again without a query. Missing
	// names are queried each time: that is quick, and their users create them at that time.
	failureTime = 5 * time.Second
	// firstRetry and lastRetry are the waits after failures; the wait doubles each time.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// jitter is the largest fraction by which waits are shortened.
	jitter = 0.1
)

// Options holds the parameters of a Follower; Lookup must be set.
type Options struct {
	Lookup func(ctx context.Context, q Question) (Answer, error)
	// Limits returns the limits of TTLs; nil means DefaultLimits.
	Limits func() Limits
	// Wanted returns the names to follow.
	Wanted func() []Question
	// Changed is called by Run after targets changed, never concurrently.
	Changed func(ctx context.Context)
	Log     *slog.Logger
	Now     func() time.Time // nil means time.Now
}

// Follower keeps the addresses of names. Use New to make one.
type Follower struct {
	o Options
	// slots and slowSlots limit the queries of followed names, asks the queries by Ask.
	slots, slowSlots chan struct{}
	asks             *share

	mu      sync.Mutex // guards the following fields
	entries map[Question]*entry
	changed bool // since the last call of Changed
}

type entry struct {
	State
	wanted bool
	queued bool // it is due and waits for a slot
	fails  int
	failed time.Time // time of the last failure
	// asking is closed when the query in progress has ended; nil without one.
	asking chan struct{}
	err    error // of the last query
}

// slow reports whether a query of the name may take long: it never had an address, or several
// queries failed.
func (e *entry) slow() bool { return e.Answered.IsZero() || e.fails >= manyFails }

// New returns a Follower without any names.
func New(o Options) *Follower {
	if o.Limits == nil {
		o.Limits = func() Limits { return DefaultLimits }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Follower{o: o, slots: make(chan struct{}, atOnce), slowSlots: make(chan struct{}, slowAtOnce),
		asks: newShare(), entries: map[Question]*entry{}}
}

// Run follows the wanted names until ctx ends, and returns when no query is in progress.
func (f *Follower) Run(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		f.want(f.o.Wanted())
		for _, q := range f.due() {
			asking.Go(func() { f.follow(ctx, q) })
		}
		if f.takeChanged() && f.o.Changed != nil {
			f.o.Changed(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Ask returns the targets of a name: the known ones if they have not expired, otherwise
// from a query. If a query for the name is in progress, it waits for that. The number of queries
// is limited for each source (WithSource), so that a source cannot take the time of others. An
// error comes without targets.
func (f *Follower) Ask(ctx context.Context, q Question) ([]Target, error) {
	if r, known := f.known(q); known {
		return r.targets, r.err
	}
	if e, asking := f.inProgress(q); asking != nil {
		return f.await(ctx, e, asking)
	}
	source := sourceOf(ctx)
	if err := f.asks.enter(ctx, source); err != nil {
		return nil, err
	}
	// An answer that is too late for this caller is still stored.
	answered := make(chan result, 1)
	go func() {
		defer f.asks.leave(source)
		targets, err := f.ask(context.WithoutCancel(ctx), q, askedTime)
		answered <- result{targets, err}
	}()
	select {
	case r := <-answered:
		return r.targets, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// result is the result of a query.
type result struct {
	targets []Target
	err     error
}

// known returns the result of Ask if no query is needed.
func (f *Follower) known(q Question) (r result, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[q]
	now := f.o.Now()
	switch {
	case e == nil:
	case e.Problem == "" && now.Before(e.Next):
		return result{targets: e.Targets}, true
	case e.Problem != "" && !e.Gone && e.err != nil && now.Sub(e.failed) < failureTime:
		return result{err: e.err}, true
	}
	return result{}, false
}

// inProgress returns a name's entry and the channel that is closed at the end of the query in
// progress, nil without one.
func (f *Follower) inProgress(q Question) (*entry, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.entries[q]; e != nil && e.asking != nil {
		return e, e.asking
	}
	return nil, nil
}

// await returns the result of a query in progress.
func (f *Follower) await(ctx context.Context, e *entry, asking <-chan struct{}) ([]Target, error) {
	select {
	case <-asking:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return e.result()
}

// Look returns the state of a name; false if it was never resolved.
func (f *Follower) Look(q Question) (State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[q]
	if e == nil || e.Answered.IsZero() && e.Problem == "" {
		return State{}, false
	}
	return e.State, true
}

func (f *Follower) entry(q Question) *entry {
	e := f.entries[q]
	if e == nil {
		e = &entry{}
		f.entries[q] = e
	}
	return e
}

// want removes the names that are no longer wanted and adds new ones.
func (f *Follower) want(list []Question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.entries {
		e.wanted = false
	}
	for _, q := range list {
		f.entry(q).wanted = true
	}
	now := f.o.Now()
	for q, e := range f.entries {
		if !e.wanted && e.asking == nil && !e.queued && now.After(e.Next) && now.Sub(e.failed) >= failureTime {
			delete(f.entries, q)
		}
	}
}

// due returns the names to resolve now, those that have waited longest first. The caller must
// follow them.
func (f *Follower) due() (out []Question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.o.Now()
	for q, e := range f.entries {
		if e.wanted && e.asking == nil && !e.queued && !now.Before(e.Next) {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b Question) int {
		return cmp.Or(f.entries[a].Next.Compare(f.entries[b].Next), cmp.Compare(a.Name, b.Name))
	})
	out = out[:min(len(out), perTick)]
	for _, q := range out {
		f.entries[q].queued = true
	}
	return out
}

// follow resolves a due name when there is a slot, unless it is no longer due then.
func (f *Follower) follow(ctx context.Context, q Question) {
	f.mu.Lock()
	e, slots := f.entries[q], f.slots
	if e.slow() {
		slots = f.slowSlots
	}
	f.mu.Unlock()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
	}
	f.mu.Lock()
	e.queued = false
	due := ctx.Err() == nil && e.wanted && e.asking == nil && !f.o.Now().Before(e.Next)
	f.mu.Unlock()
	if due {
		_, _ = f.ask(ctx, q, lookupTime)
	}
}

func (f *Follower) takeChanged() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.changed
	f.changed = false
	return was
}

// ask resolves one name within a time limit, or waits for the query in progress.
func (f *Follower) ask(ctx context.Context, q Question, limit time.Duration) ([]Target, error) {
	f.mu.Lock()
	e := f.entry(q)
	if asking := e.asking; asking != nil {
		f.mu.Unlock()
		return f.await(ctx, e, asking)
	}
	e.asking = make(chan struct{})
	f.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a, err := f.o.Lookup(within, q)
	f.mu.Lock()
	defer f.mu.Unlock()
	close(e.asking)
	e.asking, e.err = nil, err
	if ctx.Err() == nil {
		f.learn(q, e, a, err)
	}
	return e.result()
}

// result returns the result of the last query.
func (e *entry) result() ([]Target, error) {
	if e.err != nil {
		return nil, e.err
	}
	return e.Targets, nil
}

// learn stores an answer; the caller holds the lock.
func (f *Follower) learn(q Question, e *entry, a Answer, err error) {
	now := f.o.Now()
	if err != nil {
		f.fail(q, e, err, now)
		return
	}
	if e.Problem != "" && !e.Answered.IsZero() {
		f.o.Log.Info("name is resolved again", "name", q.Name)
	}
	targets := a.Targets
	for _, t := range e.Targets {
		untold := a.Unknown4 && t.Addr.Is4() || a.Unknown6 && t.Addr.Is6()
		told := slices.ContainsFunc(a.Targets, func(new Target) bool { return new.Addr == t.Addr && new.Port == t.Port })
		if untold && !told {
			targets = append(targets, t)
		}
	}
	a.Targets = targets
	a = tidy(a)
	targets, f.changed = a.Targets, f.changed || e.Withdrawn
	if !slices.Equal(targets, e.Targets) {
		if e.Answered.IsZero() {
			f.o.Log.Info("name is resolved", "name", q.Name, "addresses", texts(targets), "ttl", a.TTL)
		} else {
			f.o.Log.Info("addresses of a name changed", "name", q.Name, "addresses", texts(targets), "before", texts(e.Targets), "ttl", a.TTL)
		}
		e.Changed, f.changed = now, true
	}
	if a.Cut && !e.Cut {
		f.o.Log.Warn("name has more addresses than are used", "name", q.Name, "used", MaxTargets)
	}
	limits := f.o.Limits()
	e.fails, e.Cut, e.Problem, e.Gone, e.GoneSince, e.Withdrawn = 0, a.Cut, "", false, time.Time{}, false
	e.Targets, e.TTL, e.Answered = targets, a.TTL, now
	wait := min(max(a.TTL, limits.MinTTL), limits.MaxTTL)
	if a.Unknown4 || a.Unknown6 {
		wait = min(wait, lastRetry)
	}
	e.Next = now.Add(spread(wait))
}

// fail stores the reason of a failure, and keeps the known targets.
func (f *Follower) fail(q Question, e *entry, err error, now time.Time) {
	gone := errors.Is(err, ErrNoName) || errors.Is(err, ErrNoAddress)
	if e.Problem == "" || e.Gone != gone {
		message := "name is not resolved, its last addresses are kept"
		if len(e.Targets) == 0 {
			message = "name is not resolved"
		}
		f.o.Log.Warn(message, "name", q.Name, "reason", err, "addresses", texts(e.Targets))
	}
	e.Problem, e.Gone, e.failed = err.Error(), gone, now
	if gone && e.GoneSince.IsZero() {
		e.GoneSince = now
	}
	if gone && !e.Withdrawn && now.Sub(e.GoneSince) >= f.o.Limits().GoneTime {
		f.o.Log.Warn("name has had no address for too long: gslb services do not answer with its last addresses any more", "name", q.Name, "since", e.GoneSince)
		e.Withdrawn, f.changed = true, true
	}
	e.Next = now.Add(spread(min(firstRetry<<min(e.fails, 10), lastRetry)))
	e.fails++
}

// spread shortens a wait at random.
func spread(d time.Duration) time.Duration {
	return d - time.Duration(rand.Float64()*jitter*float64(d))
}

func texts(targets []Target) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = t.String()
	}
	return out
}
