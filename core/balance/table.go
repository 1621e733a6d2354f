package balance

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// table is derived from the usable members. It is replaced as a whole. Only version changes
// in place, if the health table changed but these members did not.
type table struct {
	version  atomic.Uint64 // of the health table
	usable   []bool        // by index: up and not in maintenance
	inLevel  []bool        // by index: usable, and priority within level
	level    int
	eligible []uint16 // indexes in inLevel
	turns    rotation // eligible, spread by weight
	weights  []int64  // by index; nil unless a member ramps up
	expires  int64    // next refresh of weights, on clock; 0 is never
}

// refresh derives the table again if a member's usability changed. Several loops may do so
// at once: each uses its result, and one is stored. The version is read first, and the
// health table increments it last, so the next Pick sees concurrent changes.
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
		if m := &p.members[i]; m.usable() != t.usable[i] || m.unseen() != 0 {
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
		p.members[i].note(t.usable[i], now)
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

// MaxWeight limits a member's weight; higher values act as MaxWeight. The specification allows
// 1–9.
const MaxWeight = 255

func newRotation(order []uint16) rotation {
	r := rotation{order: order}
	if len(order) > 0 {
		r.magic = ^uint64(0)/uint64(len(order)) + 1
	}
	return r
}

// schedule spreads the members with these indexes as evenly as possible. In every cycle each
// has as many turns as its (reduced) weight. The k-th turn of a member with weight w belongs at
// the point (k+½)/w of the cycle. The schedule is all turns ordered by these points (Webster's
// method of apportionment).
func schedule(indexes []uint16, weight func(i uint16) int) []uint16 {
	divisor, total := 0, 0
	for _, i := range indexes {
		divisor = gcd(divisor, weight(i))
	}
	for _, i := range indexes {
		total += weight(i) / divisor
	}
	if total == len(indexes) {
		return slices.Clone(indexes) // equal weights
	}
	type turn struct {
		point  uint64
		member uint16
	}
	turns := make([]turn, 0, total)
	for _, i := range indexes {
		w := uint64(weight(i) / divisor)
		for k := range w {
			turns = append(turns, turn{(2*k + 1) << 40 / w, i})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.member, b.member))
	})
	order := make([]uint16, total)
	for n, t := range turns {
		order[n] = t.member
	}
	return order
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
