package balance

// least takes the member with the lowest cost per weight. Members that cost
// the same take turns by weight: without that, an idle service would send
// everything to its first member.
func (p *Picker) least(t *table, tried Tried) (int, bool) {
	now := int64(0)
	if p.algorithm == ResponseTime {
		now = clock()
	}
	for {
		best, ties := p.cheapest(t, tried, now)
		if best < 0 {
			return 0, false
		}
		if ties {
			best = p.turnAmong(t, tried, best, now)
		}
		if p.take(best, tried) {
			return best, true
		}
		// Another loop took the last place, or the member went down since it
		// was looked at. Someone made progress, so look again.
	}
}

// cheapest returns -1 when no member is free; ties tells that others cost the
// same.
func (p *Picker) cheapest(t *table, tried Tried, now int64) (best int, ties bool) {
	best = -1
	var bestCost, bestWeight int64
	for _, e := range t.eligible {
		i := int(e)
		m := &p.members[i]
		if tried.Has(i) || !m.slot.Usable() || m.limit > 0 && m.load.Active.Load() >= m.limit {
			continue
		}
		c := p.cost(m, now)
		switch d := c*bestWeight - bestCost*m.weight; {
		case best < 0 || d < 0:
			best, bestCost, bestWeight, ties = i, c, m.weight, false
		case d == 0:
			ties = true
		}
	}
	return best, ties
}

// cost is what the algorithm compares, before weights. It stays below 2^50, so
// that its product with a weight fits.
func (p *Picker) cost(m *member, now int64) int64 {
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
	lowest := p.cost(b, now)
	for range 8 {
		i := t.turns.next(p.state)
		m := &p.members[i]
		if i == best || p.cost(m, now)*b.weight <= lowest*m.weight && p.free(i, tried) {
			return i
		}
	}
	return best
}
