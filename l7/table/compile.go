package table

import (
	"fmt"
	"maps"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/state"
)

// Compiler makes tables.
type Compiler struct {
	registry *state.Registry
	health   *health.Table
	tls      *tlsconf.Store
}

// NewCompiler returns a compiler of tables that share what is in the registry, on
// the health table, and in the store.
func NewCompiler(registry *state.Registry, healthTable *health.Table, tls *tlsconf.Store) *Compiler {
	return &Compiler{registry, healthTable, tls}
}

// Compile makes the table of a configuration; first says that there was none. A
// farm that does not compile is left out and named in problems, by its number, as is
// one that needs a mark that is missing.
func (c *Compiler) Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (*Table, map[uint32]error) {
	return c.CompileAfter(nil, generation, first, cfg, missing)
}

// CompileAfter is Compile that takes over what the table in use has of farms that are the
// same: nobody may have changed those since it was compiled.
func (c *Compiler) CompileAfter(before *Table, generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (*Table, map[uint32]error) {
	c.registry.Compiling()
	build := c.tls.Begin(cfg)
	t := &Table{
		Generation: generation, Build: build, Farms: make(map[uint32]*Farm, len(cfg.Farms)), sources: make(map[uint32]farm.Farm, len(cfg.Farms)),
	}
	problems := map[uint32]error{}
	asked := newChallenges(cfg)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.Profile != farm.ProfileHTTP {
			continue
		}
		var err error
		ft := c.again(before, build, asked, f)
		if ft == nil {
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
		t.Farms[ft.ID], t.sources[ft.ID] = ft, *f
	}
	t.follow(before)
	return t, problems
}

// follow makes the list of backends that of the table before, but for farms that are not
// the same, and notes which those are.
func (t *Table) follow(before *Table) {
	t.Backends = map[uint32]*Backend{}
	var was map[uint32]*Farm
	if before != nil && before.Farms != nil {
		t.Backends, was = maps.Clone(before.Backends), before.Farms
	}
	for id, f := range was {
		if t.Farms[id] != f {
			f.Each(func(b *Backend) { delete(t.Backends, b.ID) })
		}
	}
	for id, f := range t.Farms { // after those that went: a backend may go from one farm to another
		if was[id] != f {
			t.Fresh = append(t.Fresh, f)
			f.Each(func(b *Backend) { t.Backends[b.ID] = b })
		}
	}
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
