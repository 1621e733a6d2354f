package engine

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/session"
)

// Engine serves the farms of some profiles.
type Engine interface {
	// Handles reports whether a farm is of the kind the engine serves, running or not.
	Handles(f *farm.Farm) bool
	Prepare(generation uint64, cfg *farm.Config) (Plan, error)
	Generation() uint64
	Listeners() []string
	Listens(at farm.Listener) bool
	Sockets(key string) []*os.File
	// Unserved returns the positions in cfg of farms that the engine does not serve as they
	// are, at least all of those.
	Unserved(cfg *farm.Config) []int
	Drain(grace time.Duration)
	Close()

	// RunsFarm reports whether the farm with that number runs here; Explain is for
	// those.
	RunsFarm(farm uint32) bool
	Explain(q *explain.Question) (*explain.Explanation, error)
	// RunsService reports whether the service with that number runs here, or the
	// farm of layer 4 whose backends have it; SessionsOf is for those.
	RunsService(service uint32) bool
	SessionsOf(service uint32) session.View
	// SessionOwners are the numbers under which cfg has tables of sessions in
	// shared memory.
	SessionOwners(cfg *farm.Config) []uint64

	// MarkWith, KeepSessions and Record give the engine what it draws marked
	// sockets from, keeps sessions in and leaves records in. They come before the
	// first Prepare.
	MarkWith(r *marks.Reserve)
	KeepSessions(m *session.Memory)
	Record(to *accesslog.Segment, writers []*accesslog.Writer)
}

// Set is the engines of a process, on the same loops. Each ignores the farms of
// the others.
type Set []Engine

// Generation is that of the configuration in use.
func (s Set) Generation() uint64 { return s[0].Generation() }

// Publish makes a configuration the one in use, for all engines or, with an error,
// for none: what cannot be served is found before the first of them changes.
// opened holds one listening socket per loop for each address no engine has; those
// of addresses that go from one engine to another are added to it, and all of them
// are the caller's. The result names farms that are not served as they should be,
// by number.
func (s Set) Publish(generation uint64, cfg *farm.Config, opened map[string][]*os.File) (problems map[uint32]string, err error) {
	if held := s.Generation(); generation <= held {
		return nil, fmt.Errorf("generation %d is not newer than %d, which is in use", generation, held)
	}
	cfg = owned(cfg)
	s.hand(cfg, opened)
	plans := make([]Plan, 0, len(s))
	for _, e := range s {
		p, err := e.Prepare(generation, cfg)
		if err != nil {
			for _, p := range plans {
				p.Discard()
			}
			return nil, err
		}
		plans = append(plans, p)
	}
	problems = map[uint32]string{}
	for _, p := range plans {
		maps.Copy(problems, p.Commit(opened))
	}
	return problems, nil
}

// hand adds to the sockets that came those of addresses that go from one engine to
// another: mgmt knows only that one of them has them.
func (s Set) hand(cfg *farm.Config, opened map[string][]*os.File) {
	for _, to := range s {
		for _, i := range to.Unserved(cfg) {
			f := &cfg.Farms[i]
			if f.Stopped || !to.Handles(f) {
				continue
			}
			for _, l := range f.Listeners() {
				if !to.Listens(l) {
					s.handAt(l, opened)
				}
			}
		}
	}
}

// handAt adds the sockets of an address, unless they came.
func (s Set) handAt(l farm.Listener, opened map[string][]*os.File) {
	key := l.Key()
	for _, from := range s {
		if opened[key] == nil && from.Listens(l) {
			opened[key] = from.Sockets(key)
		}
	}
}

// Listeners are those of all engines.
func (s Set) Listeners() (keys []string) {
	for _, e := range s {
		keys = append(keys, e.Listeners()...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Drain lets all engines end what is under way at once, and closes them.
func (s Set) Drain(grace time.Duration) {
	var wg sync.WaitGroup
	for _, e := range s {
		wg.Go(func() { e.Drain(grace) })
	}
	wg.Wait()
	for _, e := range s {
		e.Close()
	}
}

// Explain asks the engine that serves the farm.
func (s Set) Explain(q *explain.Question) (*explain.Explanation, error) {
	return s.whose(func(e Engine) bool { return e.RunsFarm(q.Farm) }).Explain(q)
}

// SessionsOf asks the engine that keeps them.
func (s Set) SessionsOf(service uint32) session.View {
	return s.whose(func(e Engine) bool { return e.RunsService(service) }).SessionsOf(service)
}

// SessionOwners are the numbers of the tables of sessions that cfg has.
func (s Set) SessionOwners(cfg *farm.Config) (owners []uint64) {
	for _, e := range s {
		owners = append(owners, e.SessionOwners(cfg)...)
	}
	return owners
}

// whose is the first engine runs says yes to; the first of all, which says why not,
// when there is none.
func (s Set) whose(runs func(Engine) bool) Engine {
	return s[max(0, slices.IndexFunc(s, runs))]
}
