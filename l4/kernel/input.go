package kernel

import (
	"github.com/sluicelb/sluice/core/farm"
)

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
	// Ended are farms whose connections were ended and may not know yet: what is
	// of a TCP connection and does not begin it is refused.
	Ended map[uint32]bool
	// Hold keeps rewriting the packets of connections there are, even if no farm
	// runs any more.
	Hold bool
}

func (in *Input) usable(b *farm.Backend) bool { return in.Usable == nil || in.Usable(b.ID) }

// state is what a backend may do.
type state struct {
	*farm.Backend
	known  bool // by sessions: usable, or draining
	chosen bool // by new clients
}

// states decides for all backends of a farm. One in maintenance takes no new
// client; with drain its sessions still lead to it.
func (in *Input) states(l *farm.L4) []state {
	out := make([]state, len(l.Backends))
	for i := range l.Backends {
		b := &l.Backends[i]
		up := in.usable(b)
		out[i] = state{
			Backend: b,
			known:   up && b.Maintenance != farm.MaintenanceCut,
			chosen:  up && b.Maintenance == "",
		}
	}
	most := level(out)
	for i := range out {
		out[i].chosen = out[i].chosen && out[i].EffectivePriority() <= most
	}
	if l.Algorithm == farm.L4Priority {
		onlyFirst(out)
	}
	return out
}

// level is the priority up to which backends are in service: from 1 on, the
// unusable ones of exactly that priority are added to it until there are none
// (contract of the L4 core).
func level(list []state) int {
	for level := 1; ; {
		unusable := 0
		for i := range list {
			if !list[i].chosen && list[i].EffectivePriority() == level {
				unusable++
			}
		}
		if unusable == 0 {
			return level
		}
		level += unusable
	}
}

// onlyFirst leaves one backend chosen: the first in the list of the best
// priority.
func onlyFirst(list []state) {
	best := -1
	for i := range list {
		if list[i].chosen && (best < 0 || list[i].EffectivePriority() < list[best].EffectivePriority()) {
			best = i
		}
	}
	for i := range list {
		list[i].chosen = i == best
	}
}

// split are the farms the kernel carries, and those of the engine it helps with.
func split(cfg *farm.Config) (carried, transparent []farm.Farm) {
	for i := range cfg.Farms {
		switch f := &cfg.Farms[i]; {
		case f.InKernel():
			carried = append(carried, f.Clone())
		case f.Transparent() && (!f.Stopped || f.L4.StopGrace > 0): // the engine knows when that is over
			transparent = append(transparent, f.Clone())
		}
	}
	return carried, transparent
}

// input is what is compiled for those farms now.
func (k *Keeper) input(farms, transparent []farm.Farm, wire *seen) *Input {
	in := &Input{Farms: farms, Weights: k.weights, Hold: len(k.graced) > 0, Transparent: transparent, Ended: k.endedNow()}
	if b := k.options.Board; b != nil {
		in.Usable = func(id uint32) bool { return b.Slot(id).Usable() }
	}
	if wire != nil {
		in.Wire = wire
	}
	return in
}
