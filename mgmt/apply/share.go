package apply

import (
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// share replaces the unchanged farms of cfg by the equal farms in old, so that both share
// memory and the farms are Same (farm.Farm). The cost of rules, documents, snapshots and
// revisions then depends only on the changed farms. Afterwards neither configuration may be
// modified.
func share(old, cfg *farm.Config) {
	before := byID{farms: old.Farms}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if was := before.farm(i, f.ID); was != nil && !f.Same(was) && complete(was) && equal(was, f) {
			*f = *was
		}
	}
}

// byID finds farms of a configuration by ID, fast if most have the expected position.
type byID struct {
	farms []farm.Farm
	at    map[uint32]int // made when a farm is not at its expected position
}

// farm returns the farm with an ID, which is expected at that position, or nil.
func (b *byID) farm(at int, id uint32) *farm.Farm {
	if at < len(b.farms) && b.farms[at].ID == id {
		return &b.farms[at]
	}
	if b.at == nil {
		b.at = make(map[uint32]int, len(b.farms))
		for i := range b.farms {
			b.at[b.farms[i].ID] = i
		}
	}
	if i, is := b.at[id]; is {
		return &b.farms[i]
	}
	return nil
}

// zones returns the zones of that farm, or nil.
func (b *byID) zones(at int, id uint32) *farm.GSLB {
	if f := b.farm(at, id); f != nil {
		return f.Zones()
	}
	return nil
}

// apart returns the farms of each configuration that the other does not have; only these have
// names to resolve.
func apart(old, cfg *farm.Config) (was, is *farm.Config) {
	gone, came := farm.Apart(old.Farms, cfg.Farms)
	return &farm.Config{Farms: gone}, &farm.Config{Farms: came}
}

// equal is a faster reflect.DeepEqual of two farms. Backends are most of a farm and usually
// unchanged, so they are compared first by their own method, in a tenth of the time. Then
// reflect.DeepEqual skips them because they are the same slices.
func equal(was, f *farm.Farm) bool {
	before, now := was.Groups(), f.Groups()
	if len(before) != len(now) {
		return false
	}
	own := make([][]farm.Backend, len(now))
	for i, g := range now {
		own[i] = g.Backends()
		if !sameBackends(before[i].Backends(), own[i]) {
			return false
		}
	}
	for i, g := range now {
		g.SetBackends(before[i].Backends())
	}
	same := reflect.DeepEqual(was, f)
	for i, g := range now {
		g.SetBackends(own[i])
	}
	return same
}

func sameBackends(before, now []farm.Backend) bool {
	if len(before) != len(now) || (before == nil) != (now == nil) {
		return false
	}
	for i := range now {
		if !before[i].Equal(&now[i]) {
			return false
		}
	}
	return true
}

// complete reports whether a farm is final: all objects have IDs, and no backend has a host
// name, whose addresses may change.
func complete(f *farm.Farm) bool {
	if f.ID == 0 {
		return false
	}
	for _, g := range f.Groups() {
		if g.ID() == 0 {
			return false
		}
		for i := range g.Backends() {
			b := &g.Backends()[i]
			if addr, err := netip.ParseAddr(b.Host); err != nil || b.ID == 0 || b.Addr != addr {
				return false
			}
		}
	}
	return true
}

// settled reports whether a change of another farm cannot change this one. Keys of zones are
// created and retired at every change.
func settled(f *farm.Farm) bool {
	if g := f.Zones(); g != nil && slices.ContainsFunc(g.Zones, func(z farm.Zone) bool { return z.Signing != "" || len(z.Keys) > 0 }) {
		return false
	}
	return complete(f)
}

// unshared returns the positions of the farms of cfg that are new or changed since old. Shared
// farms have all their numbers and no parts. If old is cfg, it returns all positions.
func unshared(old, cfg *farm.Config) (positions []int) {
	var before []farm.Farm
	if old != cfg {
		before = old.Farms
	}
	for i, at := range farm.Align(before, cfg.Farms) {
		if at < 0 {
			positions = append(positions, i)
		}
	}
	return positions
}

// settledFarms caches which farms of a configuration are settled; most are the same in the
// next.
type settledFarms struct {
	farms []farm.Farm
	are   []bool
}

// of returns for each farm of cfg whether it is settled. cfg must not be modified afterwards.
func (s *settledFarms) of(cfg *farm.Config) []bool {
	are := make([]bool, len(cfg.Farms))
	for i, at := range farm.Align(s.farms, cfg.Farms) {
		if at >= 0 {
			are[i] = s.are[at]
		} else {
			are[i] = settled(&cfg.Farms[i])
		}
	}
	*s = settledFarms{cfg.Farms, are}
	return are
}
