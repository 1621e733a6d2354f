package event_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/mgmt/event"
)

// healthOf and statusOf depend only on the configuration, so they are the same for unchanged
// farms.
func healthOf(id uint32) farm.Status {
	if id%3 == 0 {
		return farm.StatusDown
	}
	return farm.StatusUp
}

func statusOf(f *farm.Farm) (farm.Status, string) {
	return []farm.Status{farm.StatusUp, farm.StatusProblem, farm.StatusDown}[f.VPort%3], "reason"
}

// With an unchanged version only changed farms are looked at. The events must be the same as
// after examining all farms.
func TestIncrementalEventsEqualAFullScan(t *testing.T) {
	known, at := event.Known{Health: healthOf, Farm: statusOf}, time.Unix(1, 0)
	for seed := range uint64(20) {
		var backends, allBackends event.Backends
		var farms, allFarms event.Farms
		for i, cfg := range changetest.Configs(seed, 60) {
			whole := uint64(i + 1)
			if got, want := eventTexts(backends.Look(cfg, 1, known, at)), eventTexts(allBackends.Look(cfg, whole, known, at)); !slices.Equal(got, want) {
				t.Fatalf("seed %d, change %d: backends: got %v, want %v", seed, i, got, want)
			}
			if got, want := eventTexts(farms.Look(cfg, 1, known, at)), eventTexts(allFarms.Look(cfg, whole, known, at)); !slices.Equal(got, want) {
				t.Fatalf("seed %d, change %d: farms: got %v, want %v", seed, i, got, want)
			}
		}
	}
}

func eventTexts(events []event.Event) (out []string) {
	for _, e := range events {
		out = append(out, fmt.Sprint(e))
	}
	slices.Sort(out)
	return out
}
