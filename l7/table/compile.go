package table

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
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
	build, asked := c.tls.Begin(cfg), newChallenges(cfg)
	farms, problems := engine.FarmsOf(&before.Farms, cfg, func(f *farm.Farm, was *Farm) (ft *Farm, err error) {
		if f.Stopped || f.Profile != farm.ProfileHTTP {
			return nil, nil
		}
		if ft = again(was, build, asked, f); ft == nil {
			if ft, err = c.compileFarm(build, first, f); err == nil {
				ft.Challenges = asked
			}
		}
		if err == nil {
			err = unmarked(f, missing)
		}
		if err != nil {
			err = fmt.Errorf("farm %q: %w", f.Name, err)
		}
		return ft, err
	})
	t := &Table{Generation: generation, Build: build, Farms: farms, Backends: before.Backends, marked: before.marked}
	if !t.Same() {
		t.follow()
	}
	return t, problems
}

// follow replaces the backends of changed farms in the copy from the previous table.
func (t *Table) follow() {
	backends := t.Backends.Edit()
	for _, f := range t.Left {
		f.Each(func(b *Backend) { backends.Set(b.ID, nil) })
		t.marked -= f.marked()
	}
	for _, f := range t.Fresh { // after the removals: a backend may move from one farm to another
		f.Each(func(b *Backend) { backends.Set(b.ID, b) })
		t.marked += f.marked()
	}
	t.Backends = backends.Map()
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
