package snapshot

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// A farm that stays is encoded once, and one that is gone is forgotten.
func TestFarmsThatStayAreEncodedOnce(t *testing.T) {
	var w Writer
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, HTTP: farm.DefaultHTTP()}, {ID: 2, HTTP: farm.DefaultHTTP()}}}
	encode := func(cfg *farm.Config) []*entry {
		t.Helper()
		next, _, err := w.encode(1, cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.last = *next
		return next.entries
	}
	first := encode(cfg)
	next := &farm.Config{Farms: []farm.Farm{cfg.Farms[0], cfg.Farms[1].Clone()}}
	if copied := encode(next); copied[0] != first[0] || copied[1] != first[1] {
		t.Error("a copy of a farm is another one")
	}
	next.Farms[1].Name = "other"
	second := encode(&farm.Config{Farms: slices.Clone(next.Farms)})
	if len(second) != 2 || second[0] != first[0] || second[1] == first[1] {
		t.Error("a farm that stayed was encoded again, or one that changed was not")
	}
}
