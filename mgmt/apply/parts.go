package apply

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// A backend that Spreads stands for several servers: each address of its name becomes a
// separate backend, a part. Parts have IDs, health, counters and sessions like others and
// follow the settings of their backend. They are in no document. A part whose address
// disappears from the name drains: it gets no new clients, and is removed when its connections
// have ended.

const (
	// leastDrain and mostDrain limit the time for which a part that left is kept.
	leastDrain = 10 * time.Second
	mostDrain  = time.Hour
)

// withoutParts removes the parts of changed farms in cfg; addParts recreates them from old.
func withoutParts(old, cfg *farm.Config) {
	for _, i := range unshared(old, cfg) {
		for _, g := range cfg.Farms[i].Groups() {
			if slices.ContainsFunc(g.Backends(), func(b farm.Backend) bool { return b.Of != 0 }) {
				g.SetBackends(g.Configured())
			}
		}
	}
}

// addParts adds the parts of each backend of cfg that Spreads: for the targets in found, else
// those it had in old. The backends of cfg already have IDs.
func (a *Applier) addParts(old, cfg *farm.Config, found map[resolve.Question][]resolve.Target) {
	had := map[uint32][]farm.Backend{}
	for p := range backendsAt(old, unshared(cfg, old)) {
		if b := p.backend(); b.Of != 0 {
			had[b.Of] = append(had[b.Of], *b)
		}
	}
	for _, i := range unshared(old, cfg) {
		for _, g := range cfg.Farms[i].Groups() {
			if !slices.ContainsFunc(g.Backends(), func(b farm.Backend) bool { return b.Spreads() }) {
				continue
			}
			for _, b := range g.Configured() {
				if !b.Spreads() {
					continue
				}
				targets, told := found[QuestionOf(&b)]
				if !told {
					targets = targetsOf(had[b.ID], b.Resolve)
				}
				a.spread(g, &b, had[b.ID], targets)
			}
			g.GiveNumbers()
		}
	}
}

// targetsOf returns the targets from which parts were created, without those that left.
func targetsOf(parts []farm.Backend, of farm.Resolve) (out []resolve.Target) {
	for i := range parts {
		if b := &parts[i]; !b.Left {
			t := resolve.Target{Addr: b.Addr}
			if of == farm.ResolveService {
				t.Host, t.Port, t.Priority, t.Weight = b.Host, b.Port, uint16(b.Priority), uint16(b.Weight)
			}
			out = append(out, t)
		}
	}
	return out
}

// spread replaces the parts of a backend. Parts that stay keep their ID, and parts whose
// address disappeared drain. There is no part for an address that another backend of the group
// has, that breaks a rule, or that exceeds the limit.
func (a *Applier) spread(g farm.Group, of *farm.Backend, had []farm.Backend, targets []resolve.Target) {
	taken := map[netip.AddrPort]bool{}
	list := slices.DeleteFunc(slices.Clone(g.Backends()), func(b farm.Backend) bool { return b.Of == of.ID })
	for i := range list {
		if !list[i].Spreads() {
			taken[list[i].AddrPort()] = true
		}
	}
	before := map[netip.AddrPort]farm.Backend{}
	for _, b := range had {
		before[b.AddrPort()] = b
	}
	room := roomFor(g.Farm, list)
	shares, ranks := sharesOf(targets), ranksOf(targets)
	for _, t := range servers(targets, g.Farm) {
		b := *of
		b.ID, b.Slot, b.Of, b.Resolve, b.Sessions, b.Addr = 0, 0, of.ID, farm.ResolveFirst, nil, addressFor(g.Farm, t.Addr)
		if of.Resolve == farm.ResolveService {
			b.Host, b.Port, b.Weight, b.Priority = t.Host, t.Port, shares(t), ranks(t)
		}
		if taken[b.AddrPort()] || !a.mayServe(g.Farm, &b) || !room(b.Addr) {
			continue
		}
		if was, known := before[b.AddrPort()]; known {
			b.ID, b.Slot = was.ID, was.Slot
		}
		taken[b.AddrPort()] = true
		list = append(list, b)
	}
	for _, b := range had {
		if taken[b.AddrPort()] {
			continue
		}
		b.Left, b.Maintenance = true, farm.MaintenanceDrain
		if of.Maintenance == farm.MaintenanceCut {
			b.Maintenance = of.Maintenance
		}
		list = append(list, b)
	}
	g.SetBackends(inOrder(list))
}

// Unused returns the addresses of a name that no backend of the group uses, because they break
// a rule or exceed the limit. It is empty for a backend that stands for one server.
func Unused(g farm.Group, of *farm.Backend, targets []resolve.Target) (out []string) {
	if !of.Spreads() {
		return nil
	}
	used := map[netip.AddrPort]bool{}
	for _, b := range g.Backends() {
		if !b.Left && !b.Spreads() {
			used[b.AddrPort()] = true
		}
	}
	for _, t := range servers(targets, g.Farm) {
		port := of.Port
		if of.Resolve == farm.ResolveService {
			port = t.Port
		}
		if at := netip.AddrPortFrom(addressFor(g.Farm, t.Addr), port); !used[at] {
			out = append(out, resolve.Target{Addr: at.Addr(), Port: at.Port()}.String())
		}
	}
	return out
}

// roomFor returns a function that reserves a place for an address, or returns false if none is
// left. Only services of gslb farms have a limit; parts that left do not count.
func roomFor(f *farm.Farm, list []farm.Backend) func(netip.Addr) bool {
	if f.Carries() != farm.TrafficQueries {
		return func(netip.Addr) bool { return true }
	}
	used := map[bool]int{}
	for i := range list {
		if b := &list[i]; !b.Left && b.Addr.IsValid() {
			used[b.Addr.Is4()]++
		}
	}
	return func(addr netip.Addr) bool {
		if used[addr.Is4()] == gslbfarm.MaxBackends {
			return false
		}
		used[addr.Is4()]++
		return true
	}
}

// mayServe reports whether the rules allow the address of a part.
func (a *Applier) mayServe(f *farm.Farm, b *farm.Backend) bool {
	problem := a.rules.Server(f, b)
	if problem != nil {
		a.log.Debug("an address of a name is not used", "name", b.Host, "address", b.Addr, "reason", problem.Message)
	}
	return problem == nil
}

// inOrder returns the configured backends in their order, then the parts grouped by backend and
// sorted by address.
func inOrder(list []farm.Backend) []farm.Backend {
	at := map[uint32]int{}
	for i := range list {
		if list[i].Of == 0 {
			at[list[i].ID] = i
		}
	}
	slices.SortStableFunc(list, func(x, y farm.Backend) int {
		switch {
		case x.Of == 0 && y.Of == 0:
			return 0
		case x.Of == 0:
			return -1
		case y.Of == 0:
			return 1
		}
		return cmp.Or(cmp.Compare(at[x.Of], at[y.Of]), x.AddrPort().Compare(y.AddrPort()))
	})
	return list
}

// sharesOf maps the weights of SRV records, 0 to 65535, to weights of backends, 1 to 9. They
// are relative within one priority (RFC 2782).
func sharesOf(targets []resolve.Target) func(resolve.Target) uint8 {
	most := map[uint16]uint16{}
	for _, t := range targets {
		most[t.Priority] = max(most[t.Priority], t.Weight)
	}
	return func(t resolve.Target) uint8 {
		if most[t.Priority] <= 9 {
			return uint8(max(1, t.Weight))
		}
		return uint8(max(1, math.Round(9*float64(t.Weight)/float64(most[t.Priority]))))
	}
}

// ranksOf maps the priorities of SRV records to priorities 1 to 9 of backends, in the same
// order. The ninth and all later ones become 9.
func ranksOf(targets []resolve.Target) func(resolve.Target) uint8 {
	var all []uint16
	for _, t := range targets {
		all = append(all, t.Priority)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return func(t resolve.Target) uint8 {
		at, _ := slices.BinarySearch(all, t.Priority)
		return uint8(min(at+1, 9))
	}
}
