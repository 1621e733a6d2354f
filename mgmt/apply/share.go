package apply

import (
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// share gives cfg the farms of old that an edit left as they were, in the place of
// copies of them. Whoever works on a configuration knows those again by where they lie
// (farm.Farm is comparable), so that a change costs as much as what it changes: rules,
// documents, snapshots, revisions. Neither may be changed any more.
func share(old, cfg *farm.Config) {
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if was := before[f.ID]; was != nil && *f != *was && complete(was) && equal(was, f) {
			*f = *was
		}
	}
}

// apart are the farms of both that the other does not have: a change asks for the names
// of no other.
func apart(old, cfg *farm.Config) (was, is *farm.Config) {
	gone, came := farm.Apart(old.Farms, cfg.Farms)
	return &farm.Config{Farms: gone}, &farm.Config{Farms: came}
}

// equal is reflect.DeepEqual of two farms. Most of what a farm is are backends, and nearly
// all of these are as they were: they are compared first, as what they are, which takes a
// tenth of the time. What reflect.DeepEqual finds at the same place it does not look into.
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

// complete reports whether nothing is left to be given to a farm: it and all in it have
// their IDs, and no backend has a name, whose addresses come and go.
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

// settled reports whether a change of another farm leaves all of a farm unchanged. Keys of
// zones are created and retired at every change.
func settled(f *farm.Farm) bool {
	if g := f.Zones(); g != nil && slices.ContainsFunc(g.Zones, func(z farm.Zone) bool { return z.Signing != "" || len(z.Keys) > 0 }) {
		return false
	}
	return complete(f)
}

// unshared returns the positions of cfg's farms that are new or changed since old.
// Farms that are shared have all their numbers, and no parts. Beside itself none of a
// configuration is shared.
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

// settledFarms remembers which farms of a configuration are settled: most of those of the
// next one are the same.
type settledFarms struct {
	farms []farm.Farm
	are   []bool
}

// of returns for each farm of cfg, which nobody changes, whether it is settled.
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
