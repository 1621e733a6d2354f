package farmstate

import "github.com/sluicelb/sluice/core/farm"

// Scope is the part of a configuration whose states must be computed again.
type Scope struct {
	// Farms are the farms to examine. They must not be modified.
	Farms []farm.Farm
	was   []farm.Farm // their previous versions, and deleted farms
	whole bool
}

// Whole is the scope of a whole configuration.
func Whole(cfg *farm.Config) Scope { return Scope{Farms: cfg.Farms, whole: true} }

// Changed is the part of now whose states may differ from the states of before, if only the
// configuration changed.
func Changed(before, now *farm.Config) (s Scope) {
	at := farm.Align(before.Farms, now.Farms)
	for i, k := range at {
		if k < 0 {
			s.Farms = append(s.Farms, now.Farms[i])
		}
	}
	for _, k := range farm.Gone(before.Farms, at) {
		s.was = append(s.was, before.Farms[k])
	}
	return s
}

// OfFarms divides the states of farms, by ID, into the previous ones of the scope and the
// unaffected ones, to which the caller adds the new states. It may modify states.
func OfFarms[V any](s *Scope, states map[uint32]V) (before, rest map[uint32]V) {
	if s.whole {
		return states, make(map[uint32]V, len(states))
	}
	before = make(map[uint32]V, len(s.was))
	for i := range s.was {
		move(states, before, s.was[i].ID)
	}
	return before, states
}

// OfBackends does the same for states of backends.
func OfBackends[V any](s *Scope, states map[uint32]V) (before, rest map[uint32]V) {
	if s.whole {
		return states, make(map[uint32]V, len(states))
	}
	before = map[uint32]V{}
	for i := range s.was {
		for _, g := range s.was[i].Groups() {
			for _, b := range g.Backends() {
				move(states, before, b.ID)
			}
		}
	}
	return before, states
}

func move[V any](from, to map[uint32]V, id uint32) {
	if v, is := from[id]; is {
		to[id] = v
		delete(from, id)
	}
}
