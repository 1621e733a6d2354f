package forward

import (
	"maps"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/health"
)

// portGroups are the groups of a farm in which something is found of one virtual
// port alone: its backends have no port and are reached on the one the client
// used, and some were refused on it. Ports of which nothing is known use the
// groups of the farm, so that a farm of many ports has one set of them.
type portGroups struct {
	made atomic.Pointer[map[portGroup]*group]
}

// portGroup is a group of the farm, and the virtual port.
type portGroup struct {
	of   *group
	port uint16
}

// on is the group g as clients of a virtual port choose in it. Hot path: one load
// where nothing was found of any port.
func (f *farmTable) on(g *group, port uint16) *group {
	if f.apart == nil {
		return g
	}
	if all := f.apart.made.Load(); all != nil {
		if own := (*all)[portGroup{g, port}]; own != nil {
			return own
		}
	}
	return g
}

// groups lists the groups of the farm.
func (f *farmTable) groups() (all []*group) {
	all = append(all, &f.group)
	if f.names != nil {
		for _, byName := range []map[string]*group{f.names.exact, f.names.below} {
			for _, g := range byName {
				all = append(all, g)
			}
		}
	}
	return all
}

// separate makes the groups of one virtual port, of which something was found.
// Any goroutine may call it.
func (f *farmTable) separate(e *Engine, port uint16) {
	if f.apart == nil {
		return
	}
	for {
		before := f.apart.made.Load()
		next := map[portGroup]*group{}
		if before != nil {
			if (*before)[portGroup{&f.group, port}] != nil {
				return
			}
			maps.Copy(next, *before)
		}
		for _, g := range f.groups() {
			found := func(i int) *health.Slot { return e.prober.Apart(f.backends[g.members[i]].id, port) }
			next[portGroup{g, port}] = &group{g.picker.Apart(found), g.members}
		}
		if f.apart.made.CompareAndSwap(before, &next) {
			return
		}
	}
}
