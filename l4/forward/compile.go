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

// followed returns the table in use if its farms can be taken over, else an empty one.
func (e *Engine) followed() *table {
	if before := e.table.Load(); before.generation != 0 && !e.unsettled {
		return before
	}
	return &table{}
}

// compile compiles a configuration, and takes over the unchanged farms of before. Farms that
// do not compile or lack required sockets are omitted and returned in problems.
func (e *Engine) compile(before *table, generation uint64, cfg *farm.Config, missing map[marks.Kind]error) (*table, map[uint32]error) {
	farms, problems := engine.FarmsOf(&before.Farms, cfg, func(f *farm.Farm, was *farmTable) (ft *farmTable, err error) {
		if f.Stopped || !f.InUserspace() {
			return nil, nil
		}
		if ft = was; ft == nil {
			ft, err = e.compileFarm(f)
		}
		if err == nil {
			err = unmarked(f, missing)
		}
		if err != nil {
			err = fmt.Errorf("farm %q: %w", f.Name, err)
		}
		return ft, err
	})
	t := &table{generation: generation, Farms: farms, marked: before.marked, backends: before.backends}
	if !t.Same() {
		t.follow()
	}
	return t, problems
}

// follow replaces the backends of changed farms in the copy from the previous table.
func (t *table) follow() {
	backends := t.backends.Edit()
	for _, f := range t.Left {
		for i := range f.backends {
			backends.Set(f.backends[i].id, nil)
		}
		t.marked -= f.marked()
	}
	for _, f := range t.Farms.Fresh { // after the removals: a backend may move from one farm to another
		for i := range f.backends {
			backends.Set(f.backends[i].id, &f.backends[i])
		}
		t.marked += f.marked()
	}
	t.backends = backends.Map()
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
		ft.conns, ft.maxConns = e.registries.conns.Of(f.ID), int64(l.MaxConnections)
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
			ft.backends[i].load = e.registries.loads.Of(l.Backends[i].ID)
		}
	}
	e.compileNames(ft, l)
	if l.QUIC && l.Datagrams() {
		ft.ids = e.registries.ids.Of(l.ID)
	}
	if ft.persist.kind != farm.L4PersistNone {
		ft.kept = sessionsOf{l.ID, l.Persist}
		ft.sessions = e.registries.tables.Of(ft.kept).Table
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
			Out: b.Maintenance != farm.MaintenanceOff, Slot: e.Health.Slot(b.ID), Load: e.registries.loads.Of(b.ID),
		}
	}
	return group{balance.NewL4(l.Algorithm, list, e.Health, e.registries.states.Of(stateOf{l.ID, name})), members}
}

// Kinds returns the kinds of marked sockets required by the backends.
func (t *table) Kinds() (kinds []marks.Kind) {
	if t.marked == 0 {
		return nil
	}
	for _, f := range t.ByID {
		for i := range f.backends {
			kinds = append(kinds, f.backends[i].kinds...)
		}
	}
	return kinds
}

// marked returns 1 if backends of the farm need marked sockets, else 0.
func (f *farmTable) marked() int {
	for i := range f.backends {
		if slices.ContainsFunc(f.backends[i].kinds, func(k marks.Kind) bool { return k.Mark != 0 }) {
			return 1
		}
	}
	return 0
}

// unmarked returns why a farm's backends cannot be reached with their marks, or nil.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	if len(missing) == 0 {
		return nil
	}
	for i := range f.L4.Backends {
		for _, k := range marks.Each(f, &f.L4.Backends[i]) {
			if err := missing[k]; err != nil {
				return fmt.Errorf("backend %d has %s: %w", i, k, err)
			}
		}
	}
	return nil
}
