package apply

import (
	"math"
	"testing"
)

func TestAnIDIsTakenOnce(t *testing.T) {
	var s idSet
	all := []uint32{0, 1, 255, 256, 5000, lowIDs - 1, lowIDs, lowIDs + 1, math.MaxUint32}
	for _, id := range all {
		if s.take(id) {
			t.Errorf("%d is there before it was added", id)
		}
	}
	for _, id := range all {
		s.add(id)
	}
	for _, id := range []uint32{2, 254, 257, lowIDs - 2, lowIDs + 2} {
		if s.take(id) {
			t.Errorf("%d was never added", id)
		}
	}
	for _, id := range all {
		if !s.take(id) || s.take(id) {
			t.Errorf("%d is not taken once", id)
		}
	}
}
