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
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/paged"
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
	engine.Farms[*farmTable]
	byName   map[string]*farmTable // for queries by HTTPS
	backends paged.Map[revive.Backend]
	build    *tlsconf.Build // made the TLS configurations; nil if there are none
	places   *geoip.Table   // client locations, or nil
	bound    bool           // some farm has a TLS configuration
}

// farmTable is one farm.
type farmTable struct {
	id       uint32
	name     string
	listen   []farm.Listener
	source   *farm.GSLB // the compiled settings
	zones    *zone.Table
	services []choose.Service
	backends []revive.Backend
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

func newKept(uint32) *kept {
	return &kept{queries: ratelimit.NewTable(), verified: ratelimit.NewTable(), answers: ratelimit.NewTable()}
}

// compile makes the table of a configuration, and takes over the unchanged farms of the one in
// use. A farm that does not compile is left out and named in problems. Of zones only what
// changed is compiled again: one of a million records takes a second.
func (e *Engine) compile(generation uint64, cfg *farm.Config) (*table, map[uint32]error) {
	before := e.table.Load()
	t := &table{engine: e, generation: generation, places: e.places.Load(), bound: bound(cfg)}
	switch {
	case t.bound:
		t.build = e.tls.Begin(cfg)
	case before.bound: // keeps no private key
		t.build = e.tls.Begin(&farm.Config{})
	}
	var problems map[uint32]error
	t.Farms, problems = engine.FarmsOf(&before.Farms, cfg, func(f *farm.Farm, was *farmTable) (*farmTable, error) {
		if f.Stopped || f.Global == nil {
			return nil, nil
		}
		if was != nil && was.places == t.places && was.sameTLS(t.build, f) {
			return was, nil
		}
		ft, err := e.compileFarm(t.build, f, before.ByID[f.ID])
		if err != nil {
			err = fmt.Errorf("farm %q: %w", f.Name, err)
		}
		return ft, err
	})
	t.byName, t.backends = before.byName, before.backends
	if !t.Same() {
		t.follow()
	}
	return t, problems
}

// sameTLS reports whether the TLS configuration of an unchanged farm is the same. Requesting it
// also keeps it for later builds.
func (ft *farmTable) sameTLS(build *tlsconf.Build, f *farm.Farm) bool {
	if f.Global.TLS == nil || build.Adopts() {
		return true
	}
	config, err := build.Listener(f.ID, f.Global.TLS, "dot")
	return err == nil && config == ft.security.Config
}

// bound reports whether a farm has a TLS configuration, which depends on certificates too.
func bound(cfg *farm.Config) bool {
	return slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return !f.Stopped && f.Global != nil && f.Global.TLS != nil })
}

// follow replaces the names and backends of changed farms in the copy from the previous table.
func (t *table) follow() {
	backends := t.backends.Edit()
	if t.byName = maps.Clone(t.byName); t.byName == nil {
		t.byName = map[string]*farmTable{}
	}
	for _, f := range t.Left {
		delete(t.byName, f.name)
		for i := range f.backends {
			backends.Set(f.backends[i].ID, nil)
		}
	}
	for _, f := range t.Farms.Fresh { // after the removals: a name or a backend may move from one farm to another
		t.byName[f.name] = f
		for i := range f.backends {
			backends.Set(f.backends[i].ID, &f.backends[i])
		}
	}
	t.backends = backends.Map()
}

func (e *Engine) compileFarm(build *tlsconf.Build, f *farm.Farm, before *farmTable) (*farmTable, error) {
	g, places := f.Global, e.places.Load()
	ft := &farmTable{
		id: f.ID, name: f.Name, listen: f.Listeners(), source: g, services: choose.Compile(f, e.Health, places), places: places,
		server: wire.Server{NSID: g.NSID, Secret: e.secret}, version: g.ServerVersion,
		maxConns: int64(cmp.Or(g.MaxConnections, farm.DefaultDNSConnections)), idle: int64(cmp.Or(g.IdleTimeout, farm.DefaultDNSIdle)) * int64(time.Second),
		transfers: g.Transfers, keys: g.Keys, slip: uint32(cmp.Or(g.Slip, farm.DefaultSlip)), kept: e.kept.Of(f.ID),
	}
	ft.conns = &ft.kept.conns
	for _, group := range f.Groups() {
		for i := range group.Backends() {
			ft.backends = append(ft.backends, reach(f, &group.Backends()[i]))
		}
	}
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

// reach is how a backend is known to the tables of health and counters. Only clients connect
// to it, so the engine cannot detect that it is down.
func reach(f *farm.Farm, b *farm.Backend) revive.Backend {
	return revive.Backend{ID: b.ID, Addr: netip.AddrPortFrom(b.Addr, b.Port), Owner: []any{"farm", f.Name}, Alias: b.Alias, Blind: true}
}

// Number implements engine.Compiled.
func (f *farmTable) Number() uint32 { return f.id }

// Addresses implements engine.Compiled.
func (f *farmTable) Addresses() []farm.Listener { return f.listen }

// Behind implements engine.Table.
func (t *table) Behind(p *port) (is bool, wait time.Duration) {
	if t.On(p) != nil {
		return true, grace
	}
	return false, 0
}

// Reached implements engine.Table.
func (t *table) Reached(id uint32) *revive.Backend { return t.backends.Of(id) }

// Fresh implements engine.Table.
func (t *table) Fresh() (all []*revive.Backend) {
	for _, f := range t.Farms.Fresh {
		for i := range f.backends {
			all = append(all, &f.backends[i])
		}
	}
	return all
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
	defer t.Settle()
	e := t.engine
	alone, before := e.compiled == 1, e.known
	e.compiled, e.known = 0, cfg.Farms
	left := func(k int32) bool { return before[k].Global != nil }
	if alone && !slices.ContainsFunc(farm.Gone(before, cfg.AlignedWith(before)), left) {
		return
	}
	there := map[uint32]bool{}
	for i := range cfg.Farms {
		if cfg.Farms[i].Global != nil {
			there[cfg.Farms[i].ID] = true
		}
	}
	e.kept.RetainIn(there)
}
