package farmstate

import "github.com/sluicelb/sluice/core/farm"

// Scope is the part of a configuration whose states must be determined again.
type Scope struct {
	// Farms are those to look at. They must not be modified.
	Farms []farm.Farm
	was   []farm.Farm // their predecessors, and farms that are gone
	whole bool
}

// Whole is a configuration whose states have all to be determined.
func Whole(cfg *farm.Config) Scope { return Scope{Farms: cfg.Farms, whole: true} }

// Changed is the part of now for which states of before do not hold, if nothing but the
// configuration changed. Kernel farms are always in it, because changes of their warnings are
// not counted.
func Changed(before, now *farm.Config) (s Scope) {
	at := farm.Align(before.Farms, now.Farms)
	for i, k := range at {
		switch {
		case k < 0:
			s.Farms = append(s.Farms, now.Farms[i])
		case now.Farms[i].InKernel():
			s.was, s.Farms = append(s.was, before.Farms[k]), append(s.Farms, now.Farms[i])
		}
	}
	for _, k := range farm.Gone(before.Farms, at) {
		s.was = append(s.was, before.Farms[k])
	}
	return s
}

// OfFarms divides the states of farms, by ID, into the previous ones of the scope and those
// that still hold, to which the new ones are added. It may modify states.
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

// OfBackends does so for states of backends.
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
