package eventlog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// With an unchanged mark only changed farms are looked at. The events must be the same as
// after examining all farms.
func TestIncrementalEventsEqualAFullScan(t *testing.T) {
	known := eventlog.Known{
		Backend: func(g farm.Group, k int) farm.Status {
			return farmstate.In(g, k, func(id uint32) farm.Status {
				return []farm.Status{farm.StatusUp, farm.StatusUp, farm.StatusDown}[id%3]
			})
		},
		Why:   func(uint32) string { return "fails" },
		Since: func(uint32) time.Time { return time.Time{} },
		Farm: func(f *farm.Farm) (farm.Status, string) {
			return []farm.Status{farm.StatusUp, farm.StatusProblem, farm.StatusDown}[f.VPort%3], "reason"
		},
	}
	for seed := range uint64(20) {
		var states, all eventlog.States
		for i, cfg := range changetest.Configs(seed, 60) {
			now := time.Unix(int64(i), 0)
			got, want := sorted(states.Look(cfg, 1, now, known)), sorted(all.Look(cfg, i, now, known))
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, change %d: got %v, want %v", seed, i, got, want)
			}
		}
	}
}

func sorted(events []eventlog.Event) (out []string) {
	for _, e := range events {
		out = append(out, fmt.Sprint(e))
	}
	slices.Sort(out)
	return out
}
