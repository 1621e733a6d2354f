package balance

import (
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// table is what follows from the members that are usable. It is replaced as a
// whole; only version moves, when the health table changed but these members did not.
type table struct {
	version  atomic.Uint64 // of the health table
	usable   []bool        // by index: up and not in maintenance
	inLevel  []bool        // by index: usable, and priority within level
	level    int
	eligible []uint16 // indexes in inLevel
	turns    rotation // eligible, spread by weight
	weights  []int64  // by index; nil unless a member ramps up
	expires  int64    // when weights are to be looked at again, on clock; 0 is never
}

// refresh derives the table again when a member's usability changed. Several
// loops may do so at once: each uses what it derived, one result is kept. The
// version is read first and the health table counts last, so a change that comes
// meanwhile is seen by the next Pick.
func (p *Picker) refresh() *table {
	version := p.health.Version()
	old := p.table.Load()
	if old != nil && p.unchanged(old) {
		old.version.Store(version)
		return old
	}
	t := p.derive()
	t.version.Store(version)
	p.table.CompareAndSwap(old, t)
	return t
}

func (p *Picker) unchanged(t *table) bool {
	if t.expired() {
		return false
	}
	for i := range p.members {
		if p.members[i].usable() != t.usable[i] {
			return false
		}
	}
	return true
}

func (p *Picker) derive() *table {
	t := &table{usable: make([]bool, len(p.members)), inLevel: make([]bool, len(p.members))}
	now := clock()
	var unusable farm.Unusable
	for i := range p.members {
		t.usable[i] = p.members[i].usable()
		p.members[i].load.note(t.usable[i], now)
		if !t.usable[i] {
			unusable[p.members[i].priority]++
		}
	}
	t.level = p.level(&unusable)
	for i, u := range t.usable {
		if u && p.priority(uint16(i)) <= t.level {
			t.inLevel[i] = true
			t.eligible = append(t.eligible, uint16(i))
		}
	}
	t.ramp(p, now)
	t.turns = newRotation(schedule(t.eligible, func(i uint16) int { return int(t.weight(p, int(i))) }))
	return t
}
