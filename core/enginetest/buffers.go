package enginetest

import (
	"slices"

	"github.com/sluicelb/sluice/core/loop"
)

// Borrowed notes which buffers each loop would lend next. Once nothing is under
// way, as now, what it returns tells whether these are there again: a buffer that
// was lent meanwhile and never came back is missing among them.
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

// nextBuffers are two of each size, by loop. They are lent and come back.
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
