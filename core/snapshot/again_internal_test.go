package snapshot

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// A farm that stays is encoded once, and one that is gone is forgotten.
func TestFarmsThatStayAreEncodedOnce(t *testing.T) {
	var w Writer
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, HTTP: farm.DefaultHTTP()}, {ID: 2, HTTP: farm.DefaultHTTP()}}}
	encode := func(cfg *farm.Config) {
		t.Helper()
		if _, err := w.encode(1, cfg); err != nil {
			t.Fatal(err)
		}
	}
	encode(cfg)
	first := w.known[cfg.Farms[0]]
	next := &farm.Config{Farms: []farm.Farm{cfg.Farms[0], cfg.Farms[1].Clone()}}
	encode(next)
	if again := w.known[cfg.Farms[0]]; &again[0] != &first[0] {
		t.Error("a farm that stayed was encoded anew")
	}
	if _, is := w.known[cfg.Farms[1]]; is || len(w.known) != 2 {
		t.Errorf("%d farms are remembered, with one that is gone: %t", len(w.known), is)
	}
}
