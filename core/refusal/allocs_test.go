//go:build !race

package refusal_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/refusal"
)

func TestAddAllocatesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		runs int
		step time.Duration
	}{
		"shown":         {refusal.RingSize - 1, refusal.Every}, // and the one AllocsPerRun makes first
		"the ring full": {10 * refusal.RingSize, refusal.Every},
		"suppressed":    {1000, 0},
	} {
		r, e, now := refusal.NewRecorder(2), event(bad), int64(0)
		if n := testing.AllocsPerRun(c.runs, func() {
			now += int64(c.step)
			r.Add(now, e)
		}); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
