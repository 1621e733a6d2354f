package balance

import "math/rand/v2"

// least takes the member with the lowest cost per weight. Members of equal cost take turns
// by weight; otherwise an idle service would send everything to its first member.
func (p *Picker) least(t *table, tried Tried) (int, bool) {
	now := int64(0)
	if p.algorithm == ResponseTime {
		now = clock()
	}
	// The table holds usable members; the first pass relies on it, and take checks again.
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
		// Another loop reached the limit, or the member went down since the table was made.
		// Some loop made progress, so try again.
		careful = true
	}
}

// cheapest returns the member of lowest cost, or -1 if none is free. ties reports whether
// others have the same cost. Fractions are compared by cross multiplication.
func (p *Picker) cheapest(t *table, tried Tried, now int64, careful bool) (best int, ties bool) {
	best = -1
	bestCost, bestWeight := int64(1), int64(0) // above any cost
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

// cost returns what the algorithm compares, before weights. It is below 2^50, so that its
// product with a weight fits.
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

// turnAmong draws from the rotation until a member costs no more than best. Few draws are
// enough: many misses mean that few members share the lowest cost.
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

// randomOfTwo draws two members by weight and takes the one with fewer exchanges in flight
// per weight. Loops see each other's loads slightly late; with the lowest load of all they
// would all choose the same member (Mitzenmacher: The power of two choices, 2001).
func (p *Picker) randomOfTwo(t *table, tried Tried) (int, bool) {
	order := t.turns.order
	n := uint64(len(order))
	r := rand.Uint64()
	first := (r >> 32) * n >> 32
	second := (r & 0xffffffff) * n >> 32
	a, b := int(order[first]), int(order[second])
	for k := uint64(1); a == b && k < n; k++ { // turns of a member are spread out, so this ends soon
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
