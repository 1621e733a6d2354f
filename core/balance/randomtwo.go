package balance

import "math/rand/v2"

// randomOfTwo draws two members, weighted, and takes the one with fewer
// exchanges in flight per weight. Loops that know each other's loads a moment
// late do not all run to the same member, as they do with the very lowest
// (Mitzenmacher: The power of two choices, 2001).
func (p *Picker) randomOfTwo(t *table, tried Tried) (int, bool) {
	order := t.turns.order
	n := uint64(len(order))
	r := rand.Uint64()
	first := (r >> 32) * n >> 32
	second := (r & 0xffffffff) * n >> 32
	a, b := int(order[first]), int(order[second])
	for k := uint64(1); a == b && k < n; k++ { // turns of one member lie apart, so this ends soon
		b = int(order[(second+k)%n])
	}
	if x, y := &p.members[a], &p.members[b]; y.load.Active.Load()*t.weight(p, a) < x.load.Active.Load()*t.weight(p, b) {
		a, b = b, a
	}
	if p.take(a, tried) {
		return a, true
	}
	if a != b && p.take(b, tried) {
		return b, true
	}
	return p.least(t, tried)
}
