package balance

import "math/rand/v2"

// least takes the member with the lowest cost per weight. Members that cost
// the same take turns by weight: without that, an idle service would send
// everything to its first member.
func (p *Picker) least(t *table, tried Tried) (int, bool) {
	now := int64(0)
	if p.algorithm == ResponseTime {
		now = clock()
	}
	// The table says who is up; the first look trusts it and take asks again.
	careful := tried != Tried{}
	for {
		best, ties := p.cheapest(t, tried, now, careful)
		if best < 0 {
			return 0, false
		}
		if ties {
			best = p.turnAmong(t, tried, best, now)
		}
		if p.take(best, tried) {
			return best, true
		}
		// Another loop reached the limit, or the member went down since the
		// table was made. Someone made progress, so look again.
		careful = true
	}
}

// cheapest returns -1 when no member is free; ties tells that others cost the
// same. It compares fractions by cross multiplication.
func (p *Picker) cheapest(t *table, tried Tried, now int64, careful bool) (best int, ties bool) {
	best = -1
	bestCost, bestWeight := int64(1), int64(0) // dearer than anything
	for _, e := range t.eligible {
		m := &p.members[e]
		if careful && (tried.Has(int(e)) || !m.slot.Usable()) || m.full() {
			continue
		}
		c, w := p.cost(m, now), m.weight
		if t.weights != nil {
			w = t.weights[e]
		}
		switch d := c*bestWeight - bestCost*w; {
		case d < 0:
			best, bestCost, bestWeight, ties = int(e), c, w, false
		case d == 0:
			ties = true
		}
	}
	return best, ties
}

// cost is what the algorithm compares, before weights. It stays below 2^50, so
// that its product with a weight fits.
func (p *Picker) cost(m *member, now int64) int64 {
	if p.algorithm == LeastConnections {
		return m.load.Active.Load()
	}
	return p.costSlow(m, now)
}

func (p *Picker) costSlow(m *member, now int64) int64 {
	switch p.algorithm {
	case ResponseTime:
		return m.load.expected(now)
	case PendingConnections:
		return m.load.Pending.Load()
	}
	return m.load.Active.Load()
}

// turnAmong draws from the rotation until a member costs no more than best.
// Few draws are enough: that many misses mean few share the lowest cost.
func (p *Picker) turnAmong(t *table, tried Tried, best int, now int64) int {
	b := &p.members[best]
	lowest, w := p.cost(b, now), t.weight(p, best)
	for range 8 {
		i := t.turns.next(p.state)
		m := &p.members[i]
		if i == best || p.cost(m, now)*w <= lowest*t.weight(p, i) && p.free(i, tried) {
			return i
		}
	}
	return best
}

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
	if p.take(b, tried) {
		return b, true
	}
	return p.least(t, tried)
}
