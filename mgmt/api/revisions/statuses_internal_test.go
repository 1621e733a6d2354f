package revisions

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Watchers share one query of the farms, and skip comparisons of unchanged farms.
func TestWatchersShareTheStatusOfFarms(t *testing.T) {
	now, looks, status := time.Unix(0, 0), 0, farm.Status("up")
	s := &statuses{now: func() time.Time { return now }, look: func() func(*farm.Farm) (farm.Status, string) {
		looks++
		return func(*farm.Farm) (farm.Status, string) { return status, "" }
	}}
	cfg := &farm.Config{Farms: []farm.Farm{{Name: "shop", ID: 7}, {Name: "dns", ID: 8}}}
	first := s.read(cfg)
	if len(first.farm) != 2 || first.farm[7] != (ChangedStatus{Farm: "shop", Status: "up"}) {
		t.Fatalf("%+v", first.farm)
	}
	for range 100 {
		if s.read(cfg) != first {
			t.Fatal("another moment at the same time")
		}
	}
	if looks != 1 {
		t.Errorf("the farms were looked at %d times", looks)
	}
	now = now.Add(changeEvery)
	if s.read(cfg) != first || looks != 2 {
		t.Errorf("the time changed although the statuses did not, or nothing was read (%d)", looks)
	}
	status, now = "down", now.Add(changeEvery)
	if m := s.read(cfg); m == first || m.farm[8].Status != "down" {
		t.Errorf("a change is missed: %+v", m.farm)
	}
	other := &farm.Config{Farms: cfg.Farms[:1]}
	if m := s.read(other); len(m.farm) != 1 {
		t.Errorf("another configuration: %+v", m.farm)
	}
}
