package rules

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// A hash selects a slot, and each slot has a backend by weighted rendezvous hashing. When a
// backend is removed only its slots change, and a new one takes some slots of each. A plain
// "hash mod number of backends" would change almost all.
const (
	fewSlots = 1024 // shares of ten backends differ by a tenth
	// maxTables limits the cached tables.
	maxTables = 4096
)

// hashing reports whether the algorithm is a hash of the packet.
func hashing(a farm.L4Algorithm) bool {
	switch a {
	case farm.L4HashSrc, farm.L4HashFlow, farm.L4HashSrcPt, farm.L4HashDst, farm.L4HashDstPt, farm.L4SymHash:
		return true
	}
	return false
}

// tables caches the text of slot maps. The same backends have the same map, and building one
// takes longer than the rest of a farm.
var tables struct {
	sync.Mutex
	texts map[string]slotText
}

type slotText struct {
	slots int
	text  string
}

// slotsFor returns the number of slots for a number of backends. Shares are random: with a
// hundred slots per backend they vary by a tenth, with three some backend may get none. When
// the number of slots changes all clients move once.
func slotsFor(backends int) int {
	switch {
	case backends <= 10:
		return fewSlots
	case backends <= 32:
		return 8 * fewSlots
	}
	return 32 * fewSlots
}

// slots returns the elements of a map from slots to marks.
func slots(chosen []*State, shares []int) (n int, text string) {
	var key strings.Builder
	for i, s := range chosen {
		fmt.Fprintf(&key, "%d*%d ", s.ID, shares[i])
	}
	tables.Lock()
	defer tables.Unlock()
	if t, ok := tables.texts[key.String()]; ok {
		return t.slots, t.text
	}
	n = slotsFor(len(chosen))
	var b strings.Builder
	for slot := range n {
		if slot > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d : %s", slot, MarkText(chosen[winner(uint64(slot), chosen, shares)].ID))
	}
	if tables.texts == nil || len(tables.texts) >= maxTables {
		tables.texts = map[string]slotText{}
	}
	tables.texts[key.String()] = slotText{n, b.String()}
	return n, b.String()
}

// winner returns the backend of a slot, by an exponential race that each wins with the
// probability of its weight.
func winner(slot uint64, chosen []*State, shares []int) int {
	best, bestScore := 0, 0.0
	for i, s := range chosen {
		u := (float64(spread(slot^spread(uint64(s.ID)))>>11) + 0.5) / (1 << 53)
		if score := -math.Log(u) / float64(shares[i]); i == 0 || score < bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

// spread mixes the bits of x (the finaliser of SplitMix64 by Steele, Lea and Flood).
func spread(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
