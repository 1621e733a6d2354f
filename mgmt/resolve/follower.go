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
	// tick, atOnce the concurrent queries.
	tick    = 500 * time.Millisecond
	perTick = 50
	atOnce  = 16
	// askTime limits the time of one query, with all its servers, attempts and aliases.
	askTime = 30 * time.Second
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
	o     Options
	slots chan struct{}

	mu      sync.Mutex // guards the following fields
	entries map[Question]*entry
	changed bool // since the last call of Changed
}

type entry struct {
	State
	wanted bool
	fails  int
	// asking is closed when the query in progress has ended; nil without one.
	asking chan struct{}
	err    error // of the last query
}

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
	return &Follower{o: o, slots: make(chan struct{}, atOnce), entries: map[Question]*entry{}}
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
			asking.Go(func() { _ = f.ask(ctx, q) })
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
// from a query. If a query for the name is in progress, it waits for that. An error comes
// without targets.
func (f *Follower) Ask(ctx context.Context, q Question) ([]Target, error) {
	f.mu.Lock()
	e := f.entry(q)
	if e.Problem == "" && f.o.Now().Before(e.Next) {
		defer f.mu.Unlock()
		return e.Targets, nil
	}
	f.mu.Unlock()
	// An answer that is too late for this caller is still stored.
	answered := make(chan error, 1)
	go func() { answered <- f.ask(context.WithoutCancel(ctx), q) }()
	select {
	case err := <-answered:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.entry(q).Targets, nil // not e: it may have been removed while the name was not wanted
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
		if !e.wanted && e.asking == nil && now.After(e.Next) {
			delete(f.entries, q)
		}
	}
}

// due returns the names to resolve now, those that have waited longest first.
func (f *Follower) due() (out []Question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.o.Now()
	for q, e := range f.entries {
		if e.wanted && e.asking == nil && !now.Before(e.Next) {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b Question) int {
		return cmp.Or(f.entries[a].Next.Compare(f.entries[b].Next), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), perTick)]
}

func (f *Follower) takeChanged() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.changed
	f.changed = false
	return was
}

// ask resolves one name, or waits for the query in progress.
func (f *Follower) ask(ctx context.Context, q Question) error {
	f.mu.Lock()
	e := f.entry(q)
	if wait := e.asking; wait != nil {
		f.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return e.err
	}
	e.asking = make(chan struct{})
	f.mu.Unlock()
	a, err := f.lookup(ctx, q)
	f.mu.Lock()
	defer f.mu.Unlock()
	close(e.asking)
	e.asking, e.err = nil, err
	if ctx.Err() == nil {
		f.learn(q, e, a, err)
	}
	return err
}

func (f *Follower) lookup(ctx context.Context, q Question) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	return f.o.Lookup(ctx, q)
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
	e.Problem, e.Gone = err.Error(), gone
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
