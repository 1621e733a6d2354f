package changepoint

import "math"

// sliding is the Mann-Whitney test for two windows that move along a series together. A
// move costs the logarithm of the number of values; they are not sorted again.
type sliding struct {
	ranks         []int // of each value among all, equal for equal values, from 1 on
	before, after counts
	both          []int   // how many values of a rank are in both windows together
	larger        float64 // pairs with the larger value in after; equal ones count half
	ties          float64 // the sum of t³-t over both
}

func newSliding(values []float64) *sliding {
	s := &sliding{ranks: make([]int, len(values)), before: make(counts, len(values)+1), after: make(counts, len(values)+1), both: make([]int, len(values)+1)}
	shared, _ := ranksOf(values)
	for i, r := range shared {
		s.ranks[i] = int(r)
	}
	return s
}

// scores returns how unlikely the windows around each position are, 0 where they do not
// fit.
func (s *sliding) scores(w int) []float64 {
	out := make([]float64, len(s.ranks)+1)
	clear(s.before)
	clear(s.after)
	clear(s.both)
	s.larger, s.ties = 0, 0
	for i := range min(2*w, len(s.ranks)) {
		if i < w {
			s.addBefore(i, 1)
		} else {
			s.addAfter(i, 1)
		}
	}
	for at := w; at+w <= len(s.ranks); at++ {
		out[at] = math.Abs(deviation(s.larger, s.ties, float64(w), float64(w)))
		if at+w == len(s.ranks) {
			break
		}
		s.addBefore(at-w, -1)
		s.addAfter(at, -1)
		s.addBefore(at, 1)
		s.addAfter(at+w, 1)
	}
	return out
}

// addBefore and addAfter add the value at a position to a window, or with -1 remove it.
func (s *sliding) addBefore(i, n int) {
	r := s.ranks[i]
	s.larger += float64(n) * (float64(s.after.sum(len(s.ranks))-s.after.sum(r)) + float64(s.after.at(r))/2)
	s.before.add(r, n)
	s.tie(r, n)
}

func (s *sliding) addAfter(i, n int) {
	r := s.ranks[i]
	s.larger += float64(n) * (float64(s.before.sum(r-1)) + float64(s.before.at(r))/2)
	s.after.add(r, n)
	s.tie(r, n)
}

func (s *sliding) tie(r, n int) {
	was := float64(s.both[r])
	s.both[r] += n
	is := float64(s.both[r])
	s.ties += is*is*is - is - (was*was*was - was)
}

// counts holds the number of values of each rank, as a Fenwick tree: prefix sums take
// logarithmic time.
type counts []int

func (c counts) add(r, n int) {
	for ; r < len(c); r += r & -r {
		c[r] += n
	}
}

func (c counts) sum(r int) (n int) {
	for ; r > 0; r -= r & -r {
		n += c[r]
	}
	return n
}

func (c counts) at(r int) int { return c.sum(r) - c.sum(r-1) }
