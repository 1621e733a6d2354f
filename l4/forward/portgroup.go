package forward

import (
	"maps"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
)

// portGroups are separate groups for virtual ports with their own findings, by transport.
// They occur if backends without a port are reached on the virtual port, or serve both
// transports, and refused some of these. Ports without findings use the farm's groups, so
// that a farm with many ports has a single set.
type portGroups struct {
	made atomic.Pointer[map[portGroup]*group]
}

// portGroup identifies a group by the farm's group and the virtual port.
type portGroup struct {
	of   *group
	port revive.Port
}

// on returns the group for clients of a virtual port. Hot path: one load if no port has
// findings.
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

// groups returns all groups of the farm.
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

// separate creates the groups of the virtual ports whose clients use a backend port with a
// finding. It is safe for concurrent use.
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
