package farmstate_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Moved grows after every change of Problem, and only then.
func TestMovedCountsEveryProblemChange(t *testing.T) {
	var s farmstate.Silent
	said, moved := "", uint64(0)
	for i, look := range []func(){
		func() { s.Look(7, 0, 0) }, func() { s.Look(7, 0, 2) }, func() { s.Look(7, 0, 3) }, func() { s.Look(7, 0, 3) }, func() { s.Look(7, 0, 9) }, func() { s.Look(7, 1, 9) },
		func() { s.Look(7, 1, 20) }, func() { s.Look(7, 1, 0) }, func() { s.Look(7, 1, 5) }, func() { s.Retain(func(uint32) bool { return false }) },
		func() { s.Look(7, 1, 5) },
	} {
		look()
		now, count := s.Problem(7), s.Moved()
		if now != said && count == moved {
			t.Errorf("round %d: the state is %q, it was %q, and no change was counted", i, now, said)
		}
		if now == said && count != moved {
			t.Errorf("round %d: a change was counted, but the state is still %q", i, now)
		}
		said, moved = now, count
	}
	if moved < 6 {
		t.Errorf("%d changes", moved)
	}
}
