package route

import (
	"maps"
	"slices"
)

// sprout is a state during construction.
type sprout struct {
	below map[byte]*sprout
	marks []uint16 // of the literal that ends here
	at    uint32   // its index among the states
}

func (s *sprout) step(b byte) *sprout {
	next := s.below[b]
	if next == nil {
		if s.below == nil {
			s.below = map[byte]*sprout{}
		}
		next = &sprout{}
		s.below[b] = next
	}
	return next
}

// add adds a literal that marks a pattern's bit.
func (s *sprout) add(literal string, mark uint16) {
	for _, b := range []byte(literal) {
		s = s.step(b)
	}
	if !slices.Contains(s.marks, mark) {
		s.marks = append(s.marks, mark)
	}
}

// build lays out the states level by level. The failure state of a state is shorter and thus
// exists already.
func (s *sprout) build() *automaton {
	a := &automaton{states: make([]state, 1), ends: make([]end, 1)}
	for level := []*sprout{s}; len(level) > 0; {
		var below []*sprout
		for _, s := range level {
			below = a.lay(s, below)
		}
		level = below
	}
	a.share = shareOf(len(a.ends))
	return a
}

// lay creates the successors of s and appends them to below.
func (a *automaton) lay(s *sprout, below []*sprout) []*sprout {
	if len(s.below) == 0 {
		return below
	}
	labels := slices.Sorted(maps.Keys(s.below)) // in byte order, so that equal rules give equal tables
	lo, hi := labels[0], labels[len(labels)-1]
	slots := make([]uint32, hi-lo+1)
	for _, b := range labels {
		child := s.below[b]
		child.at = uint32(len(a.states))
		n := state{}
		if s.at != 0 {
			n.fail = a.step(a.states[s.at].fail, b)
		}
		n.end = a.finish(child, a.states[n.fail].end)
		a.states = append(a.states, n)
		slots[b-lo] = child.at
		below = append(below, child)
	}
	if s.at == 0 {
		copy(a.first[lo:], slots)
		return below
	}
	here := &a.states[s.at]
	here.lo, here.span, here.next = lo, hi-lo+1, uint32(len(a.next))
	a.next = append(a.next, slots...)
	return below
}

// finish returns the literals that end at a state, followed by shorter, the literals of its
// failure state.
func (a *automaton) finish(s *sprout, shorter uint32) uint32 {
	if len(s.marks) == 0 {
		return shorter
	}
	from := uint32(len(a.marks))
	a.marks = append(a.marks, s.marks...)
	a.ends = append(a.ends, end{span{from, uint32(len(a.marks))}, shorter})
	return uint32(len(a.ends) - 1)
}
