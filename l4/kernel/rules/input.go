package rules

import "github.com/sluicelb/sluice/core/farm"

// Input is the complete input of a compilation.
type Input struct {
	// Farms holds l4xnat farms. Those carried in userspace are ignored; of stopped ones only
	// sessions are kept.
	Farms []farm.Farm
	// Recorded holds farms that are not carried, e.g. because the kernel refused their rules.
	// Only their ended connections are recorded.
	Recorded []farm.Farm
	// Usable reports whether a backend may get new connections by its health; nil means all
	// may.
	Usable func(backend uint32) bool
	// Weights holds the weights of backends of leastconn farms, by ID; the default is 10.
	Weights map[uint32]int
	// Wire finds backends of packet modes; without it they cannot be carried.
	Wire Wire
	// Transparent holds farms of the engine whose backends see client addresses: their
	// replies are routed to the engine.
	Transparent []farm.Farm
	// Flushed holds farms with flushed connections whose ends may not know it yet. TCP
	// packets that do not begin a connection are refused.
	Flushed map[uint32]bool
	// Cut holds backends that are down and whose connections were ended (cut_conns). TCP
	// connections to other backends that are down continue in packet modes, as they do with
	// connection tracking.
	Cut map[uint32]bool
	// Hold keeps rewriting the packets of connections in progress, even if no farm runs.
	Hold bool
}

func (in *Input) usable(b *farm.Backend) bool { return in.Usable == nil || in.Usable(b.ID) }

// State describes which connections a backend may get.
type State struct {
	*farm.Backend
	Known  bool // usable by sessions: up, or draining
	Chosen bool // usable by new clients
	Spare  bool // usable by new clients if the chosen one is full; only with algorithm prio
	Down   bool // by health, in maintenance or not
}

// States returns the states of all backends of a farm. A backend in maintenance gets no new
// clients; when draining it keeps its sessions.
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

// onlyFirst leaves one backend chosen: the first one with the best priority. The others are
// spare.
func onlyFirst(list []State) {
	best := -1
	for i := range list {
		if list[i].Chosen && (best < 0 || list[i].EffectivePriority() < list[best].EffectivePriority()) {
			best = i
		}
	}
	for i := range list {
		list[i].Chosen, list[i].Spare = i == best, list[i].Chosen && i != best
	}
}
