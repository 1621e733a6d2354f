package apply

import (
	"net/netip"
	"reflect"

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
		if was := before[f.ID]; was != nil && complete(was) && reflect.DeepEqual(was, f) {
			*f = *was
		}
	}
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
