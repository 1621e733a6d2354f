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
	// Handles reports whether the engine serves this kind of farm, running or not.
	Handles(f *farm.Farm) bool
	Prepare(generation uint64, cfg *farm.Config) (Plan, error)
	Generation() uint64
	Listeners() []string
	Listens(at farm.Listener) bool
	Sockets(key string) []*os.File
	// Unserved returns the positions in cfg of at least all farms that the engine does not
	// serve in this form.
	Unserved(cfg *farm.Config) []int
	Drain(grace time.Duration)
	Close()

	// RunsFarm reports whether the farm with that number runs here; only then Explain may be
	// called for it.
	RunsFarm(farm uint32) bool
	Explain(q *explain.Question) (*explain.Explanation, error)
	// RunsService reports whether the service with that number runs here, or the layer 4 farm
	// whose backend group has it; only then SessionsOf may be called for it.
	RunsService(service uint32) bool
	SessionsOf(service uint32) session.View
	// SessionOwners returns the numbers of cfg's session tables in shared memory.
	SessionOwners(cfg *farm.Config) []uint64

	// MarkWith, KeepSessions and Record set the source of marked sockets, the memory of
	// sessions and the destination of access records. They are called before the first
	// Prepare.
	MarkWith(r *marks.Reserve)
	KeepSessions(m *session.Memory)
	Record(to *accesslog.Segment, writers []*accesslog.Writer)
}

// Set is the engines of a process, on the same loops. Each ignores the farms of the others.
type Set []Engine

// Generation returns the number of the configuration in use.
func (s Set) Generation() uint64 { return s[0].Generation() }

// Publish puts a configuration into use for all engines or, with an error, for none: problems
// are found before the first engine changes. The map opened holds one listening socket per
// loop for each address that no engine listens on. Sockets of addresses that move between
// engines are added to it, and the caller owns all of them. The configuration and everything
// it refers to must not change any more. The result holds farms that are not served
// correctly, by number.
func (s Set) Publish(generation uint64, cfg *farm.Config, opened map[string][]*os.File) (problems map[uint32]string, err error) {
	if held := s.Generation(); generation <= held {
		return nil, fmt.Errorf("generation %d is not newer than %d, which is in use", generation, held)
	}
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

// hand adds the sockets of addresses that move from one engine to another, because mgmt does
// not know which engine has a socket.
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

// handAt adds the sockets of an address, unless they are in opened already.
func (s Set) handAt(l farm.Listener, opened map[string][]*os.File) {
	key := l.Key()
	for _, from := range s {
		if opened[key] == nil && from.Listens(l) {
			opened[key] = from.Sockets(key)
		}
	}
}

// Listeners returns the sorted keys of the sockets of all engines.
func (s Set) Listeners() (keys []string) {
	for _, e := range s {
		switch own := e.Listeners(); { // sorted
		case len(keys) == 0:
			keys = slices.Clip(own) // belongs to the engine
		case len(own) > 0:
			keys = append(keys, own...)
			slices.Sort(keys)
		}
	}
	return slices.Compact(keys)
}

// Drain drains all engines at once and closes them.
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

// SessionsOf asks the engine that has the sessions.
func (s Set) SessionsOf(service uint32) session.View {
	return s.whose(func(e Engine) bool { return e.RunsService(service) }).SessionsOf(service)
}

// SessionOwners returns the numbers of cfg's session tables.
func (s Set) SessionOwners(cfg *farm.Config) (owners []uint64) {
	for _, e := range s {
		owners = append(owners, e.SessionOwners(cfg)...)
	}
	return owners
}

// whose returns the first engine for which runs returns true, or else the first engine, whose
// methods return the error.
func (s Set) whose(runs func(Engine) bool) Engine {
	return s[max(0, slices.IndexFunc(s, runs))]
}
