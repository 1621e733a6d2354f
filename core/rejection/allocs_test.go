//go:build !race

package rejection_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/rejection"
)

func TestAddAllocatesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		runs int
		step time.Duration
	}{
		"shown":         {rejection.RingSize - 1, rejection.Every}, // and the one that AllocsPerRun makes first
		"the ring full": {10 * rejection.RingSize, rejection.Every},
		"suppressed":    {1000, 0},
	} {
		r, e, now := rejection.NewRecorder(2), event(bad), int64(0)
		if n := testing.AllocsPerRun(c.runs, func() {
			now += int64(c.step)
			r.Add(now, e)
		}); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
