package apply_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
)

// The callback of WithTold runs only for changes in force and stored.
func TestAppliedChangesAreReported(t *testing.T) {
	var heard []string
	h := newHouse(t, apply.WithTold(func(old, now *farm.Config, rev store.Revision) {
		heard = append(heard, fmt.Sprintf("%d farms, then %d, by %s in %d", len(old.Farms), len(now.Farms), rev.Author, rev.Number))
	}))
	h.must(add(shop("a", 8080)))
	h.must(func(*farm.Config) error { return nil })
	if _, err := h.Change(apply.DryRun(t.Context()), root, "", 0, add(shop("b", 8090))); !errors.Is(err, apply.ErrDryRun) {
		t.Fatal(err)
	}
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) {
		return apply.Outcome{}, &apply.Refused{Reason: "no"}
	})
	if _, err := h.Change(t.Context(), root, "", 0, add(shop("b", 8090))); err == nil {
		t.Fatal("not refused")
	}
	h.pub.Answer(nil)
	h.must(add(shop("b", 8090)))
	if want := []string{"0 farms, then 1, by root in 1", "1 farms, then 2, by root in 2"}; !slices.Equal(heard, want) {
		t.Errorf("got %q, want %q", heard, want)
	}
}
