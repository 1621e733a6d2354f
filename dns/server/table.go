package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/lasting"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/dns/choose"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

type port = ports.Port

// table is a configuration compiled by the engine.
type table struct {
	engine     *Engine
	generation uint64
	byID       map[uint32]*farmTable
	byName     map[string]*farmTable // for queries by HTTPS
	ports      []*farmTable          // by port number
	backends   map[uint32]*revive.Backend
	build      *tlsconf.Build // made the TLS configurations; nil if there are none
	sources    []farm.Farm    // of the configuration, never modified
	places     *geoip.Table   // client locations, or nil
	reused     bool           // it has the farms of the table before
	lacking    bool           // some farm did not compile
	bound      bool           // some farm has a TLS configuration, which also depends on certificates
}

// farmTable is one farm.
type farmTable struct {
	id       uint32
	name     string
	listen   []farm.Listener
	source   *farm.GSLB // the compiled settings
	zones    *zone.Table
	services []choose.Service
	places   *geoip.Table // client locations, or nil
	server   wire.Server
	version  string

	tlsPort  uint16 // of encrypted connections; 0 for none
	security loop.Security

	maxConns  int64
	conns     *atomic.Int64
	idle      int64
	transfers []netip.Prefix
	keys      []farm.TransferKey

	queries, answers ratelimit.Limit
	limited          struct{ queries, answers bool }
	slip             uint32
	kept             *kept
}

// kept is a farm's state across tables.
type kept struct {
	conns atomic.Int64
	// queries counts clients whose address may be spoofed, verified the others.
	queries, verified, answers *ratelimit.Table
}

type registry struct{ farms lasting.Map[uint32, kept] }

func newRegistry() *registry {
	r := &registry{}
	r.farms.Make = func(uint32) *kept {
		return &kept{queries: ratelimit.NewTable(), verified: ratelimit.NewTable(), answers: ratelimit.NewTable()}
	}
	return r
}

// reuse returns the current table with another generation if all gslb farms of cfg are those
// it was compiled from, else nil.
func (e *Engine) reuse(generation uint64, cfg *farm.Config) *table {
	before := e.table.Load()
	if before.generation == 0 || before.bound || e.unsettled || before.places != e.places.Load() ||
		engine.Changed(cfg, before.sources, func(f *farm.Farm) bool { return f.Global != nil }) {
		return nil
	}
	t := *before
	t.generation, t.sources, t.reused, t.build = generation, cfg.Farms, true, nil
	t.ports = slices.Clone(before.ports) // Bind may modify it
	return &t
}

// compile makes the table of a configuration. A farm that does not compile is left out
// and named in problems. Of zones only what changed is compiled again: one of a million
// records takes a second.
func (e *Engine) compile(generation uint64, cfg *farm.Config) (*table, map[uint32]error) {
	t := &table{engine: e, generation: generation, byID: map[uint32]*farmTable{}, byName: map[string]*farmTable{}, backends: map[uint32]*revive.Backend{}, build: e.tls.Begin(cfg)}
	problems := map[uint32]error{}
	before := e.table.Load()
	t.sources, t.places = cfg.Farms, e.places.Load()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.Global == nil {
			continue
		}
		t.bound = t.bound || f.Global.TLS != nil
		ft, err := e.compileFarm(t.build, f, before.byID[f.ID])
		if err != nil {
			problems[f.ID] = fmt.Errorf("farm %q: %w", f.Name, err)
			continue
		}
		t.byID[f.ID], t.byName[f.Name] = ft, ft
		for _, g := range f.Groups() {
			for j := range g.Backends() {
				t.backends[g.Backends()[j].ID] = reach(f, &g.Backends()[j])
			}
		}
	}
	return t, problems
}

func (e *Engine) compileFarm(build *tlsconf.Build, f *farm.Farm, before *farmTable) (*farmTable, error) {
	g, places := f.Global, e.places.Load()
	ft := &farmTable{
		id: f.ID, name: f.Name, listen: f.Listeners(), source: g, services: choose.Compile(f, e.Health, places), places: places,
		server: wire.Server{NSID: g.NSID, Secret: e.secret}, version: g.ServerVersion,
		maxConns: int64(cmp.Or(g.MaxConnections, farm.DefaultDNSConnections)), idle: int64(cmp.Or(g.IdleTimeout, farm.DefaultDNSIdle)) * int64(time.Second),
		transfers: g.Transfers, keys: g.Keys, slip: uint32(cmp.Or(g.Slip, farm.DefaultSlip)), kept: e.registry.farms.Of(f.ID),
	}
	ft.conns = &ft.kept.conns
	if g.TLS != nil {
		config, err := build.Listener(f.ID, g.TLS, "dot")
		if err != nil {
			return nil, err
		}
		ft.tlsPort, ft.security = g.EffectiveTLSPort(), loop.Security{Config: config}
	}
	if ft.limited.queries = g.QueryRate > 0; ft.limited.queries {
		ft.queries = ratelimit.New(int(g.QueryRate), time.Second, int(g.QueryRate))
	}
	if ft.limited.answers = g.AnswerRate > 0; ft.limited.answers {
		ft.answers = ratelimit.New(int(g.AnswerRate), time.Second, int(g.AnswerRate))
	}
	if before != nil {
		if ft.zones = before.zones; zone.SameZones(before.source, g) {
			return ft, nil
		}
		if ft.zones = before.zones.Update(before.source, g); ft.zones != nil {
			return ft, nil
		}
	}
	var err error
	ft.zones, err = zone.Compile(g)
	return ft, err
}

// reach is how a backend is known to the tables of health and counters. Clients connect
// to it by themselves: the engine never does, so nobody here calls it down.
func reach(f *farm.Farm, b *farm.Backend) *revive.Backend {
	return &revive.Backend{ID: b.ID, Addr: netip.AddrPortFrom(b.Addr, b.Port), Owner: []any{"farm", f.Name}, Alias: b.Alias, Blind: true}
}

// farm returns the farm of a port, or nil.
func (t *table) farm(p *port) *farmTable {
	if p.Number >= len(t.ports) {
		return nil
	}
	return t.ports[p.Number]
}

// Bind implements engine.Table.
func (t *table) Bind(p *port, id uint32) {
	for p.Number >= len(t.ports) {
		t.ports = append(t.ports, nil)
	}
	t.ports[p.Number] = t.byID[id]
}

// Behind implements engine.Table.
func (t *table) Behind(p *port) (is bool, wait time.Duration) {
	if t.farm(p) != nil {
		return true, grace
	}
	return false, 0
}

// Listeners implements engine.Table.
func (t *table) Listeners() map[uint32][]farm.Listener {
	all := make(map[uint32][]farm.Listener, len(t.byID))
	for id, f := range t.byID {
		all[id] = f.listen
	}
	return all
}

// Reached implements engine.Table.
func (t *table) Reached(id uint32) *revive.Backend { return t.backends[id] }

// Fresh implements engine.Table: all of them, unless the table is reused.
func (t *table) Fresh() []*revive.Backend {
	if t.reused {
		return nil
	}
	return slices.Collect(maps.Values(t.backends))
}

// Changes implements engine.Table: unknown, unless the table is reused.
func (t *table) Changes() *engine.Changes {
	if t.reused {
		return engine.NoChanges()
	}
	return nil
}

// Kinds implements engine.Table.
func (t *table) Kinds() []marks.Kind { return nil }

// Use implements engine.Table.
func (t *table) Use() {
	if t.build != nil {
		t.build.Commit()
		for _, w := range t.build.Warnings() {
			t.engine.log.Warn("certificate", "problem", w)
		}
	}
	t.engine.table.Store(t)
}

// Used implements engine.Table.
func (t *table) Used(cfg *farm.Config) {
	if t.reused {
		return
	}
	there := map[uint32]bool{}
	for i := range cfg.Farms {
		if cfg.Farms[i].Global != nil {
			there[cfg.Farms[i].ID] = true
		}
	}
	t.engine.registry.farms.RetainIn(there)
	t.engine.unsettled = t.lacking
}
