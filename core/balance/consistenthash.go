package balance

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// maglevSize is the number of slots. It is prime, so that every step visits all slots. It is
// constant, because flows keep their member only while the size stays. The paper's small size
// is 65537; the shares of 1,000 members still differ by less than 2 %. The table takes 128 KiB.
const maglevSize = 65537

// maxProbes is how often a hash is mixed again if its member is not usable.
const maxProbes = 8

// maglev maps slots to members (Eisenbud and others: Maglev, NSDI 2016, section 3.4, with
// weights). Members are placed in the order of their IDs, so the order of configuration does
// not move flows.
type maglev struct {
	ids     []uint32
	weights []int64
	slots   []uint16
}

// maglevOf returns the last table if the members and their order are the same: building
// takes milliseconds, and most reloads change other things.
func (s *State) maglevOf(members []member) *maglev {
	m := &maglev{}
	for i := range members {
		m.ids = append(m.ids, members[i].id)
		m.weights = append(m.weights, members[i].weight)
	}
	if old := s.maglev.Load(); old != nil && slices.Equal(old.ids, m.ids) && slices.Equal(old.weights, m.weights) {
		return old
	}
	m.build()
	s.maglev.Store(m)
	return m
}

// build lets members claim slots in turns, each along its own permutation. Per round a
// member of the highest weight has one turn, others proportionally fewer.
func (m *maglev) build() {
	if len(m.ids) == 0 {
		return
	}
	order := make([]int, len(m.ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.ids[a], m.ids[b]) })
	type cursor struct{ at, step uint32 }
	cursors := make([]cursor, len(m.ids))
	for i, id := range m.ids {
		h := mix(uint64(id))
		cursors[i] = cursor{uint32(h % maglevSize), uint32(mix(h)%(maglevSize-1)) + 1}
	}
	credit := make([]int64, len(m.ids))
	heaviest := slices.Max(m.weights)
	m.slots = make([]uint16, maglevSize)
	taken := make([]bool, maglevSize)
	for filled := 0; ; {
		for _, i := range order {
			if credit[i] += m.weights[i]; credit[i] < heaviest {
				continue
			}
			credit[i] -= heaviest
			p := &cursors[i]
			for taken[p.at] {
				p.at = (p.at + p.step) % maglevSize
			}
			taken[p.at], m.slots[p.at] = true, uint16(i)
			if filled++; filled == maglevSize {
				return
			}
		}
	}
}

// consistent takes the member of the hash's slot. If that member is not usable the hash is
// mixed again. Only the flows of that member move, each to a member that does not depend on the
// state of the others.
func (p *Picker) consistent(t *table, hash uint64, tried Tried) (int, bool) {
	h := hash
	for range maxProbes {
		h = mix(h)
		slot, _ := bits.Mul64(h, maglevSize)
		i := int(p.maglev.slots[slot])
		if t.inLevel[i] && p.take(i, tried) {
			return i, true
		}
	}
	return p.rendezvous(t, hash, tried)
}

// rendezvous takes the usable member with the best weighted score of hash and ID. It finds a
// member if there is one and moves as few flows as the table, but its cost grows with the
// number of members.
func (p *Picker) rendezvous(t *table, hash uint64, tried Tried) (int, bool) {
	for {
		best, bestScore := -1, 0.0
		for _, e := range t.eligible {
			i := int(e)
			if !p.free(i, tried) {
				continue
			}
			m := &p.members[i]
			// -ln of a uniform number in (0, 1), divided by the weight: an exponential race
			// that each member wins with the probability of its weight.
			u := (float64(mix(hash^mix(uint64(m.id)))>>11) + 0.5) / (1 << 53)
			if score := -math.Log(u) / float64(m.weight); best < 0 || score < bestScore {
				best, bestScore = i, score
			}
		}
		if best < 0 {
			return 0, false
		}
		if p.take(best, tried) {
			return best, true
		}
	}
}

// mix mixes the bits of x (the finaliser of SplitMix64 by Steele, Lea and Flood). It does
// not map 0 to 0.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
