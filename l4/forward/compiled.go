package forward

import (
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// compiled is a table of the engine, as core/engine knows it.
type compiled struct {
	*table
	engine *Engine
}

// Compile implements engine.Profile.
func (e *Engine) Compile(generation uint64, _ bool, cfg *farm.Config, missing map[marks.Kind]error) (engine.Table, map[uint32]error) {
	t, problems := e.compile(generation, cfg, missing)
	return compiled{t, e}, problems
}

// Current implements engine.Profile.
func (e *Engine) Current() engine.Table { return compiled{e.table.Load(), e} }

// Empty implements engine.Profile.
func (e *Engine) Empty() engine.Table {
	return compiled{&table{generation: e.Generation(), backends: e.table.Load().backends}, e}
}

// Behind implements engine.Table. What came to a farm that is gone ends at once.
func (c compiled) Behind(p *port) (is bool, grace time.Duration) {
	if f := c.farm(p); f != nil {
		return true, f.grace
	}
	return false, 0
}

// Use implements engine.Table.
func (c compiled) Use() {
	e, t := c.engine, c.table
	before := e.table.Swap(t)
	t.dropCut(before)
	for _, b := range t.backends { // after the swap: what is refused from now on separates the port in t
		for _, port := range e.Prober.Refused(b.id) {
			b.separate(e, port)
		}
	}
	e.registry.fix(t)
}

// Used implements engine.Table.
func (c compiled) Used(cfg *farm.Config) { c.engine.registry.retain(cfg) }
