package table

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/paged"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/state"
)

// Compiler compiles configurations to tables.
type Compiler struct {
	registry *state.Registry
	health   *health.Table
	tls      *tlsconf.Store
}

// NewCompiler returns a compiler whose tables share the registry, the health table and the
// TLS store.
func NewCompiler(registry *state.Registry, healthTable *health.Table, tls *tlsconf.Store) *Compiler {
	return &Compiler{registry, healthTable, tls}
}

// Compile compiles a configuration; first means that there was none before. Farms that do
// not compile or lack a required mark are omitted and returned in problems, by farm number.
func (c *Compiler) Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (*Table, map[uint32]error) {
	return c.CompileAfter(nil, generation, first, cfg, missing)
}

// CompileAfter is Compile that reuses unchanged farms of the current table. Neither these
// farms nor the list of farms may have been modified since.
func (c *Compiler) CompileAfter(before *Table, generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (*Table, map[uint32]error) {
	c.registry.Compiling()
	if before == nil {
		before = &Table{}
	}
	build := c.tls.Begin(cfg)
	t := &Table{Generation: generation, Build: build, sources: cfg.Farms, marked: before.marked}
	t.compiled, t.plain = make([]*Farm, len(cfg.Farms)), make([]bool, len(cfg.Farms))
	problems := map[uint32]error{}
	asked := newChallenges(cfg)
	kept := make([]bool, len(before.compiled)) // reused farms
	for i, at := range cfg.AlignedWith(before.sources) {
		f := &cfg.Farms[i]
		if f.Stopped || f.Profile != farm.ProfileHTTP {
			continue
		}
		var err error
		var ft *Farm
		switch {
		case at >= 0 && before.plain[at] && asked == nil:
			ft = before.compiled[at]
		case at >= 0:
			ft = again(before.compiled[at], build, asked, f)
		}
		taken := ft != nil
		if !taken {
			if ft, err = c.compileFarm(build, first, f); err == nil {
				ft.Challenges = asked
			}
		}
		if err == nil {
			err = unmarked(f, missing)
		}
		if err != nil {
			problems[f.ID] = fmt.Errorf("farm %q: %w", f.Name, err)
			continue
		}
		t.compiled[i] = ft
		if taken {
			kept[at], t.plain[i] = true, before.plain[at]
		} else {
			t.Fresh, t.plain[i] = append(t.Fresh, ft), asked == nil && !usesTLS(f)
			t.marked += ft.marked()
		}
	}
	for at, ft := range before.compiled {
		if ft != nil && !kept[at] {
			t.left = append(t.left, ft)
			t.marked -= ft.marked()
		}
	}
	t.follow(before)
	return t, problems
}

// follow copies the farms, backends and ports of the previous table, without removed farms
// and with the fresh ones replaced.
func (t *Table) follow(before *Table) {
	t.Farms, t.byPort = maps.Clone(before.Farms), slices.Clone(before.byPort)
	had := &before.Backends
	if t.Farms == nil {
		t.Farms, had = make(map[uint32]*Farm, len(t.Fresh)), new(paged.Map[Backend])
	}
	backends := had.Edit()
	for _, f := range t.left {
		delete(t.Farms, f.ID)
		f.Each(func(b *Backend) { backends.Set(b.ID, nil) })
	}
	for _, f := range t.Fresh { // after the removals: a backend may move from one farm to another
		t.Farms[f.ID] = f
		f.Each(func(b *Backend) { backends.Set(b.ID, b) })
	}
	t.Backends = backends.Map()
	for i, f := range t.byPort {
		if f != nil && slices.Contains(t.left, f) {
			t.byPort[i] = nil
		}
	}
}

// Changes returns the differences from the previous table.
func (t *Table) Changes() *engine.Changes {
	c := &engine.Changes{Came: make(map[uint32][]farm.Listener, len(t.Fresh))}
	for _, f := range t.Fresh {
		c.Came[f.ID] = []farm.Listener{f.listener}
	}
	for _, f := range t.left {
		if t.Farms[f.ID] == nil {
			c.Gone = append(c.Gone, f.ID)
		}
	}
	return c
}

// Each calls do for every backend of the farm.
func (f *Farm) Each(do func(b *Backend)) {
	for s := range f.Services {
		for b := range f.Services[s].Backends {
			do(&f.Services[s].Backends[b])
		}
	}
}

func nanos(s farm.Seconds) int64 { return int64(s) * int64(time.Second) }
