package snapshot

import (
	"errors"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Unchanged farms are encoded once, and removed farms are forgotten.
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
		t.Error("an unchanged farm was encoded again, or a changed one was not")
	}
}

// A reader refuses differences that do not produce the written configuration, and keeps
// its current one.
func TestDifferencesThatMakeAnotherConfigurationAreRefused(t *testing.T) {
	var w Writer
	var r Reader
	farms := []farm.Farm{{ID: 1, HTTP: farm.DefaultHTTP()}, {ID: 2, HTTP: farm.DefaultHTTP()}}
	first, rest, err := w.encode(1, &farm.Config{Farms: farms})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := first.whole(rest)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.decode(slices.Concat(whole...)); err != nil {
		t.Fatal(err)
	}
	w.last = *first
	next, rest, err := w.encode(2, &farm.Config{Farms: []farm.Farm{first.farms[1], first.farms[0]}})
	if err != nil {
		t.Fatal(err)
	}
	next.sum = sumOf(next.rest, first.entries)
	b, err := next.after(first, rest)
	if err != nil {
		t.Fatal(err)
	}
	before := r.last
	if _, _, err := r.decode(slices.Concat(b...)); !errors.Is(err, ErrChecksum) || r.last != before {
		t.Errorf("got %v, kept: %t", err, r.last == before)
	}
}
