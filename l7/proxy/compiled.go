package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/l7/table"
)

// compiled is a table of the engine, as core/engine knows it.
type compiled struct {
	*table.Table
	engine *Engine
}

// Compile implements engine.Profile.
func (e *Engine) Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (engine.Table, map[uint32]error) {
	t, problems := e.compiler.Compile(generation, first, cfg, missing)
	return compiled{t, e}, problems
}

// Current implements engine.Profile.
func (e *Engine) Current() engine.Table { return compiled{e.table.Load(), e} }

// Empty implements engine.Profile.
func (e *Engine) Empty() engine.Table {
	return compiled{&table.Table{Generation: e.Generation(), Backends: e.table.Load().Backends}, e}
}

// Behind implements engine.Table.
func (c compiled) Behind(p *ports.Port) (is bool, grace time.Duration) {
	if f := c.Farm(p); f != nil {
		return true, f.Grace
	}
	return false, defaultGrace
}

// Use implements engine.Table.
func (c compiled) Use() {
	e := c.engine
	if c.Build != nil {
		c.Build.Commit()
		warn(e.log, c.Build)
	}
	before := e.table.Swap(c.Table)
	c.DropCut(before)
	c.Fix(e.registry)
}

// Used implements engine.Table.
func (c compiled) Used(cfg *farm.Config) {
	e := c.engine
	e.registry.Open()
	e.registry.Stir()
	e.registry.Retain(cfg)
	e.ejections.inherit(c.Table)
}
