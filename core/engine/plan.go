package engine

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/revive"
)

// Plan is a compiled configuration that is not in use yet. It ends with Commit or Discard.
// Until then the engine allows no other change.
type Plan interface {
	// Commit puts the plan into use for new connections. opened holds one listening socket
	// per loop for each address the engine has none for; the caller keeps them. The result
	// holds farms that are not served correctly, by number.
	Commit(opened map[string][]*os.File) (problems map[uint32]string)
	// Discard drops the plan.
	Discard()
	// Needs returns the keys of listeners without sockets.
	Needs() []string
}

type plan[W Worker] struct {
	base     *Base[W]
	cfg      *farm.Config
	table    Table
	kinds    [][]marks.Kind
	problems map[uint32]string
}

// Publish is Prepare and Commit.
func (b *Base[W]) Publish(generation uint64, cfg *farm.Config, opened map[string][]*os.File) (problems map[uint32]string, err error) {
	p, err := b.Prepare(generation, owned(cfg))
	if err != nil {
		return nil, err
	}
	return p.Commit(opened), nil
}

// owned returns cfg with its own list of farms.
func owned(cfg *farm.Config) *farm.Config {
	own := *cfg
	own.Farms = slices.Clone(cfg.Farms)
	return &own
}

// Prepare compiles a configuration and changes nothing. An error means that it is refused
// because some farm cannot be served. Before the first table such a farm is a problem
// instead, so that it does not block the others. cfg and everything it refers to must not
// change any more.
func (b *Base[W]) Prepare(generation uint64, cfg *farm.Config) (Plan, error) {
	b.mu.Lock()
	first := b.Profile.Generation() == 0
	kinds := b.needed(cfg)
	missing := b.Marks.Prepare(slices.Concat(kinds...), first)
	t, bad := b.Profile.Compile(generation, first, cfg, missing)
	p := &plan[W]{base: b, cfg: cfg, table: t, kinds: kinds, problems: map[uint32]string{}}
	if len(bad) > 0 && !first {
		p.Discard()
		return nil, errors.Join(slices.Collect(maps.Values(bad))...)
	}
	for id, err := range bad {
		p.problems[id] = err.Error()
	}
	return p, nil
}

// needed returns the kinds of marked sockets each farm of cfg needs, for farms the engine
// handles. Farms already served in this form are not computed again.
func (b *Base[W]) needed(cfg *farm.Config) [][]marks.Kind {
	kinds := make([][]marks.Kind, len(cfg.Farms))
	for i, at := range cfg.AlignedWith(b.served.farms) {
		if at >= 0 {
			kinds[i] = b.served.kinds[at]
		} else if f := &cfg.Farms[i]; b.Profile.Handles(f) {
			kinds[i] = marks.Needed(f)
		}
	}
	return kinds
}

// Discard implements Plan.
func (p *plan[W]) Discard() {
	p.base.Marks.Keep(p.base.Profile.Current().Kinds())
	p.base.mu.Unlock()
}

// Needs implements Plan.
func (p *plan[W]) Needs() (keys []string) {
	for _, listeners := range p.table.Listeners() {
		for _, l := range listeners {
			if !p.base.ports.Open(l) {
				keys = append(keys, l.Key())
			}
		}
	}
	return keys
}

// Commit implements Plan.
func (p *plan[W]) Commit(opened map[string][]*os.File) (problems map[uint32]string) {
	b, t := p.base, p.table
	defer b.mu.Unlock()
	fresh := t.Fresh()
	b.served.farms, b.served.kinds = p.cfg.Farms, p.kinds
	moves := b.served.follow(t)
	b.adopt(moves.came, fresh, t)
	closed := b.unlisten(t, &moves) // first, so that new connections go to the next listener
	before := b.Profile.Current()
	t.Use()
	for id, list := range moves.came {
		delete(b.served.failed, id)
		for _, l := range list {
			if err := b.ports.Listen(l, opened[l.Key()]); err != nil {
				p.problems[id] = err.Error()
			}
		}
	}
	for id := range p.problems {
		b.served.failed[id] = true
	}
	for _, port := range closed {
		if _, port.Grace = before.Behind(port); port.Grace > 0 {
			time.AfterFunc(port.Grace, b.ForceClose)
		}
	}
	// Wait for the loops: a farm may be started again at once, and its port is then in use.
	over := b.ports.Over()
	if !moves.none() || len(over) > 0 {
		b.ports.OnLoops(func(w W) { w.Reconcile(over) })
	}
	t.Used(p.cfg)
	b.Prober.Retain(t.Reached, fresh)
	b.Marks.Keep(t.Kinds())
	return p.problems
}

// adopt claims the shared slots of new farms and backends: a slot of another owner is reset.
// It also assigns each farm to its ports.
func (b *Base[W]) adopt(listeners map[uint32][]farm.Listener, fresh []*revive.Backend, t Table) {
	for id, list := range listeners {
		b.Segment.AdoptFarm(id, uint64(id))
		for _, l := range list {
			t.Bind(b.ports.Of(l), id)
		}
	}
	for _, one := range fresh {
		b.Segment.AdoptBackend(one.ID, uint64(one.ID))
		b.Health.Adopt(one.ID, uint64(one.ID))
	}
}
