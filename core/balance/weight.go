package balance

import (
	"cmp"
	"slices"
)

// MaxWeight bounds a member's weight; higher values act as this one. The
// contract allows 1–9.
const MaxWeight = 255

// schedule spreads the members with these indexes as evenly as their weights
// allow: in every cycle each comes as often as its (reduced) weight says, and
// its turns lie as far apart as possible. The k-th turn of a member with
// weight w belongs at the point (k+½)/w of the cycle; the schedule is all turns
// in the order of these points, which is Webster's method of apportionment.
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
