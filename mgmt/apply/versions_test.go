package apply_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// The revision of a farm is that of its own last change, even for a farm that is never shared
// because of host names.
func TestAFarmHasTheRevisionThatChangedItLast(t *testing.T) {
	h := newHouse(t)
	h.name("app.example", "127.0.0.9")
	named := shop("named", 82)
	named.HTTP.Services[0].Backends[0].Host = "app.example"
	h.must(add(shop("one", 81)))
	h.must(add(named))
	revisions := func() (one, other, now uint64) {
		cfg, rev := h.Current()
		return h.FarmRevision(cfg.Farms[0].ID), h.FarmRevision(cfg.Farms[1].ID), rev.Number
	}
	one, other, now := revisions()
	if one != now-1 || other != now {
		t.Errorf("created: %d and %d, the newest is %d", one, other, now)
	}
	h.must(func(cfg *farm.Config) error {
		cfg.Farms[0].HTTP.ConnectTimeout = 7
		return nil
	})
	if a, b, newest := revisions(); a != newest || b != other || newest != now+1 {
		t.Errorf("the first changed: %d and %d, the newest is %d", a, b, newest)
	}
	cfg, _ := h.Current()
	gone := cfg.Farms[0].ID
	h.must(func(cfg *farm.Config) error {
		cfg.Farms = cfg.Farms[1:]
		return nil
	})
	if got := h.FarmRevision(gone); got >= now {
		t.Errorf("a deleted farm is remembered with revision %d", got)
	}
}
