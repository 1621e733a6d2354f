package forward

import (
	"maps"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
)

// portGroups are the groups of a farm in which something is found of one virtual
// port alone, and of its TCP or UDP: its backends have no port and are reached on
// the one the client used, or serve both transports, and some were refused there.
// Ports of which nothing is known use the groups of the farm, so that a farm of
// many ports has one set of them.
type portGroups struct {
	made atomic.Pointer[map[portGroup]*group]
}

// portGroup is a group of the farm, and the virtual port.
type portGroup struct {
	of   *group
	port revive.Port
}

// on is the group g as clients of a virtual port choose in it. Hot path: one load
// where nothing was found of any port.
func (f *farmTable) on(g *group, port revive.Port) *group {
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

// separate makes the groups of the virtual ports whose clients reach the backend
// on a port of which something was found. Any goroutine may call it.
func (b *backend) separate(e *Engine, found revive.Port) {
	if b.of.apart == nil {
		return
	}
	for _, l := range b.of.listeners {
		if at := virtual(l); b.way(at) == found {
			b.of.separate(e, at)
		}
	}
}

func (f *farmTable) separate(e *Engine, port revive.Port) {
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
			found := func(i int) *health.Slot {
				b := &f.backends[g.members[i]]
				return e.Prober.Apart(b.id, b.way(port))
			}
			next[portGroup{g, port}] = &group{g.picker.Apart(found), g.members}
		}
		if f.apart.made.CompareAndSwap(before, &next) {
			return
		}
	}
}
