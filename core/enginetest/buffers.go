package enginetest

import (
	"slices"

	"github.com/sluicelb/sluice/core/loop"
)

// Borrowed records the buffers at the top of each loop's pools. It must be called while
// nothing is in progress. returned reports whether the pools hold the same buffers
// again; one that was taken meanwhile and not put back is missing.
func (h *House) Borrowed() (returned func() bool) {
	before := h.nextBuffers()
	return func() bool {
		for i, now := range h.nextBuffers() {
			for _, b := range now {
				if !slices.Contains(before[i], b) {
					return false
				}
			}
		}
		return true
	}
}

// nextBuffers returns two buffers of each size per loop, without keeping them.
func (h *House) nextBuffers() (all [][]*byte) {
	for _, l := range h.Loops {
		var next []*byte
		done := make(chan struct{})
		l.Post(func() {
			defer close(done)
			for size := 1; size <= loop.MaxBuffer; size *= 2 {
				one, other := l.Buffers.Get(size), l.Buffers.Get(size)
				next = append(next, &one[:1][0], &other[:1][0])
				l.Buffers.Put(other)
				l.Buffers.Put(one)
			}
		})
		<-done
		all = append(all, next)
	}
	return all
}
