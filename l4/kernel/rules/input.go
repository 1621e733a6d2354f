package rules

import "github.com/sluicelb/sluice/core/farm"

// Input is everything a compilation depends on.
type Input struct {
	// Farms are l4xnat farms; those carried in userspace are left out, and of
	// those that are stopped there is no more than their sessions.
	Farms []farm.Farm
	// Usable tells whether a backend may get new connections as far as health is
	// concerned; nil says yes of all.
	Usable func(backend uint32) bool
	// Weights are those of backends of farms with leastconn, by ID; those that
	// are missing weigh 10.
	Weights map[uint32]int
	// Wire tells where backends of packet modes are; nil means that they cannot
	// be carried.
	Wire Wire
	// Transparent are farms the engine carries whose backends see the addresses
	// of clients: what they answer is led to the engine.
	Transparent []farm.Farm
	// Flushed are farms whose connections were flushed and may not know yet: what is
	// of a TCP connection and does not begin it is refused.
	Flushed map[uint32]bool
	// Cut are backends that are down and whose connections were ended (cut_conns).
	// Connections of TCP to other backends that are down go on in packet modes, as
	// connection tracking lets them in the others.
	Cut map[uint32]bool
	// Hold keeps rewriting the packets of connections there are, even if no farm
	// runs any more.
	Hold bool
}

func (in *Input) usable(b *farm.Backend) bool { return in.Usable == nil || in.Usable(b.ID) }

// State is what a backend may do.
type State struct {
	*farm.Backend
	Known  bool // by sessions: usable, or draining
	Chosen bool // by new clients
	Down   bool // by what was found about it, in maintenance or not
}

// States decides for all backends of a farm. One in maintenance takes no new
// client; with drain its sessions still lead to it.
func (in *Input) States(l *farm.L4) []State {
	out := make([]State, len(l.Backends))
	var unusable farm.Unusable
	for i := range l.Backends {
		b := &l.Backends[i]
		up := in.usable(b)
		out[i] = State{
			Backend: b,
			Known:   up && b.Maintenance != farm.MaintenanceCut,
			Chosen:  up && b.Maintenance == "",
			Down:    !up,
		}
		if !out[i].Chosen {
			unusable[b.EffectivePriority()]++
		}
	}
	level := unusable.LevelL4()
	for i := range out {
		out[i].Chosen = out[i].Chosen && out[i].EffectivePriority() <= level
	}
	if l.Algorithm == farm.L4Priority {
		onlyFirst(out)
	}
	return out
}

// onlyFirst leaves one backend chosen: the first in the list of the best
// priority.
func onlyFirst(list []State) {
	best := -1
	for i := range list {
		if list[i].Chosen && (best < 0 || list[i].EffectivePriority() < list[best].EffectivePriority()) {
			best = i
		}
	}
	for i := range list {
		list[i].Chosen = i == best
	}
}
