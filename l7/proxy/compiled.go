package proxy

import (
	"errors"
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// compiled is a table of the engine in the form of core/engine.
type compiled struct {
	*table.Table
	engine *Engine
}

// Compile implements engine.Profile.
func (e *Engine) Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (engine.Table, map[uint32]error) {
	t, problems := e.compiler.CompileAfter(e.table.Load(), generation, first, cfg, missing)
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
	if f := c.On(p); f != nil {
		return true, f.Grace
	}
	return false, defaultGrace
}

// Fresh implements engine.Table.
func (c compiled) Fresh() (all []*revive.Backend) {
	for _, f := range c.Table.Fresh {
		f.Each(func(b *table.Backend) { all = append(all, &b.Reach) })
	}
	return all
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
	e.ejections.inherit(c.Table.Fresh)
	c.Settle()
}

// warn logs the certificates that clients may refuse.
func warn(log *slog.Logger, build *tlsconf.Build) {
	for _, w := range build.Warnings() {
		log.Warn("certificate", "problem", w)
	}
}

// Errors of a change of sessions.
var (
	errNoService = errors.New("the service does not run")
	errNoTable   = errors.New("the service keeps no sessions: set persistence first")
)

// SessionsOf returns the current sessions of a service, or none if its farm is stopped. It
// is safe for concurrent use.
func (e *Engine) SessionsOf(id uint32) session.View {
	sv := e.table.Load().Service(id)
	switch {
	case sv == nil:
		return session.View{Err: errNoService}
	case sv.Sessions == nil:
		return session.View{Err: errNoTable}
	}
	return sv.View()
}

// RunsService implements engine.Engine.
func (e *Engine) RunsService(service uint32) bool { return e.table.Load().Service(service) != nil }

// SessionOwners returns the numbers of the session tables in cfg, including stopped farms.
func (e *Engine) SessionOwners(cfg *farm.Config) (owners []uint64) {
	for i := range cfg.Farms {
		if h := cfg.Farms[i].HTTP; h != nil {
			for s := range h.Services {
				owners = append(owners, state.SessionsFor(&h.Services[s]).Owner())
			}
		}
	}
	return owners
}

// KeepSessions places sessions in m, together with the sessions of an earlier engine. It must
// be called before the first Publish.
func (e *Engine) KeepSessions(m *session.Memory) { e.registry.KeepIn(m) }

// KeepTickets places the keys of TLS session tickets in mem and continues with the keys of an
// earlier engine (see tlsconf.Tickets.Keep). It must be called before the first Publish.
func (e *Engine) KeepTickets(mem []byte) error { return e.tls.Tickets().Keep(mem) }
