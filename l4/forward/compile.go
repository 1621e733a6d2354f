package forward

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/revive"
)

const second = int64(time.Second)

func nanos(s farm.Seconds) int64 { return int64(s) * second }

// reuse returns the current table with another generation if all l4xnat farms of cfg are
// those it was compiled from, else nil.
func (e *Engine) reuse(generation uint64, cfg *farm.Config, missing map[marks.Kind]error) *table {
	before := e.table.Load()
	isL4 := func(f *farm.Farm) bool { return f.L4 != nil }
	if before.generation == 0 || e.unsettled || len(missing) > 0 || engine.Changed(cfg, before.sources, isL4) {
		return nil
	}
	t := *before
	t.generation, t.sources, t.reused = generation, cfg.Farms, true
	t.ports = slices.Clone(before.ports) // Bind may modify it
	return &t
}

// compile compiles a configuration. Farms that do not compile or lack required sockets are
// omitted and returned in problems.
func (e *Engine) compile(generation uint64, cfg *farm.Config, missing map[marks.Kind]error) (*table, map[uint32]error) {
	t := &table{generation: generation, byID: map[uint32]*farmTable{}, backends: map[uint32]*backend{}, sources: cfg.Farms}
	problems := map[uint32]error{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || !f.InUserspace() {
			continue
		}
		ft, err := e.compileFarm(f)
		if err == nil {
			err = unmarked(f, missing)
		}
		if err != nil {
			problems[f.ID] = fmt.Errorf("farm %q: %w", f.Name, err)
			continue
		}
		t.byID[ft.id] = ft
		for b := range ft.backends {
			t.backends[ft.backends[b].id] = &ft.backends[b]
		}
	}
	return t, problems
}

func (e *Engine) compileFarm(f *farm.Farm) (*farmTable, error) {
	l := f.L4
	if len(l.Ports) == 0 {
		return nil, errors.New("it has no virtual port")
	}
	ft := &farmTable{
		id: f.ID, service: l.ID, name: f.Name, protocol: l.Protocol, listeners: f.Listeners(), local: f.VIP, transparent: f.Transparent(),
		connect:  nanos(cmp.Or(l.ConnectTimeout, farm.DefaultL4Connect)),
		idle:     nanos(cmp.Or(l.IdleTimeout, farm.DefaultTCPIdle)),
		flowIdle: nanos(cmp.Or(l.IdleTimeout, farm.DefaultUDPIdle)),
		grace:    time.Duration(nanos(l.StopGrace)),
		answers:  answersOf(l),
		hash:     hashing(l.Algorithm),
		persist:  newPersistence(l), algorithm: l.Algorithm,
		backends: make([]backend, len(l.Backends)), at: make(map[uint32]int, len(l.Backends)),
		logged: l.Logs, sample: l.AccessLog.Sample,
		trusted: l.Trusted, proxyIn: l.ProxyIn, proxyOut: proxyOutOf(l),
	}
	if l.MaxConnections > 0 {
		ft.conns, ft.maxConns = e.registry.conns.Of(f.ID), int64(l.MaxConnections)
	}
	numbers := f.Own().Numbers()
	for i := range l.Backends {
		ft.backends[i] = ft.compileBackend(f, &l.Backends[i])
		ft.backends[i].number = numbers[i]
		ft.at[l.Backends[i].ID] = i
		if len(ft.backends[i].reach.Ports) > 0 {
			ft.apart = new(portGroups)
		}
		if l.Backends[i].ConnLimit > 0 || balance.ParseL4(l.Algorithm).NeedsLoad() {
			ft.backends[i].load = e.registry.loads.Of(l.Backends[i].ID)
		}
	}
	e.compileNames(ft, l)
	if l.QUIC && l.Datagrams() {
		ft.ids = e.registry.ids.Of(l.ID)
	}
	if ft.persist.kind != farm.L4PersistNone {
		ft.kept = sessionsOf{l.ID, l.Persist}
		ft.sessions = e.registry.tables.Of(ft.kept).Table
	}
	return ft, nil
}

func answersOf(l *farm.L4) int64 {
	if l.Responses == nil {
		return -1
	}
	return int64(*l.Responses)
}

func (ft *farmTable) compileBackend(f *farm.Farm, b *farm.Backend) backend {
	out := backend{
		id: b.ID, of: ft, addr: b.AddrPort(), mode: b.Maintenance, statics: b.Sessions, kinds: marks.Each(f, b),
		options: loop.DialOptions{Source: b.Source, Mark: marks.Of(f, b).Mark, Urgent: true},
	}
	if !out.options.Source.IsValid() {
		out.options.Source = f.L4.Source
	}
	probing := out.options
	probing.Preface = ft.proxyOut.Own() // a backend that requires a PROXY header would log its absence
	to := out.to(ft.listeners[0].Addr.Port())
	out.path = fmt.Sprintf("%s from %s with mark %d, PROXY header %d", to, out.options.Source, out.options.Mark, ft.proxyOut)
	out.reach = revive.Backend{
		ID: b.ID, Addr: to, Options: probing, Owner: []any{"farm", f.Name}, Alias: b.Alias,
		Timeout: time.Duration(ft.connect),
		Every:   time.Duration(nanos(cmp.Or(f.L4.ResurrectTime, farm.DefaultL4Resurrect))),
		Blind:   f.L4.Protocol == farm.L4UDP,
		Reach:   string(f.L4.Protocol) + "/" + out.path,
	}
	if ways := ft.ways(&out); len(ways) > 1 {
		out.reach.Ports = ways
	}
	return out
}

// ways returns the ports on which a backend is reached, by transport. If it has no port,
// these are the virtual ports.
func (ft *farmTable) ways(b *backend) (list []revive.Port) {
	for _, l := range ft.listeners {
		if way := b.way(virtual(l)); !slices.Contains(list, way) {
			list = append(list, way)
		}
	}
	return list
}

// compileGroup compiles the group of the backends at these positions, which belong to one
// server name or to none.
func (e *Engine) compileGroup(l *farm.L4, name string, members []int) group {
	list := make([]balance.Member, len(members))
	for i, at := range members {
		b := &l.Backends[at]
		list[i] = balance.Member{
			ID: b.ID, Weight: b.EffectiveWeight(), Priority: b.EffectivePriority(), Limit: int64(b.ConnLimit),
			Out: b.Maintenance != farm.MaintenanceOff, Slot: e.Health.Slot(b.ID), Load: e.registry.loads.Of(b.ID),
		}
	}
	return group{balance.NewL4(l.Algorithm, list, e.Health, e.registry.states.Of(stateOf{l.ID, name})), members}
}

// Kinds returns the kinds of marked sockets required by the backends.
func (t *table) Kinds() (kinds []marks.Kind) {
	for _, b := range t.backends {
		kinds = append(kinds, b.kinds...)
	}
	return kinds
}

// unmarked returns why a farm's backends cannot be reached with their marks, or nil.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	for i := range f.L4.Backends {
		for _, k := range marks.Each(f, &f.L4.Backends[i]) {
			if err := missing[k]; err != nil {
				return fmt.Errorf("backend %d has %s: %w", i, k, err)
			}
		}
	}
	return nil
}
