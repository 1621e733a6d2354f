//go:build !race

package health_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/health"
)

func TestTableDoesNotAllocate(t *testing.T) {
	b := newTable(t)
	state := health.Up
	if n := testing.AllocsPerRun(100, func() {
		if b.Slot(7).Usable() && b.Version() > 1<<60 {
			t.Error("impossible")
		}
		state = health.Up + health.Down - state
		b.SetPassive(7, state, t0)
		b.SetGuardian(7, state, t0)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
