package apply_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
)

// restoring is a Restoration that records its steps.
type restoring struct {
	apply.Restoration
	contents store.Contents
	steps    []string
}

func (h *house) restoring(farms ...farm.Farm) *restoring {
	r := &restoring{}
	r.Config = &farm.Config{Farms: farms}
	r.Swap = func() { r.steps = append(r.steps, "swap") }
	r.Undo = func() { r.steps = append(r.steps, "undo") }
	r.Keep = func(cfg *farm.Config, meta store.Meta) (store.Revision, error) {
		r.steps = append(r.steps, "keep")
		return h.store.Restore(cfg, meta, store.Replacement{Merge: func(store.Contents) (store.Contents, error) {
			return r.contents, nil
		}})
	}
	return r
}

func (r *restoring) took(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(r.steps, " "); got != want {
		t.Errorf("steps %q, want %q", got, want)
	}
}

func TestARestorationIsOneRevision(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	before, _ := h.Current()
	r := h.restoring(shop("a", 8080), shop("b", 8090))
	got, err := h.Restore(t.Context(), root, "restored", r.Restoration)
	if err != nil || got.Revision.Number != 2 || got.Revision.Comment != "restored" || got.Revision.Author != "root" || got.Revision.Source != "cli" {
		t.Fatalf("%v: %+v", err, got.Revision)
	}
	r.took(t, "swap keep")
	now, _ := h.Current()
	if now.Farms[0].ID != before.Farms[0].ID || len(now.Farms) != 2 || now.Farms[1].ID == 0 {
		t.Error("a farm in both configurations did not keep its number")
	}
	if text(t, h.pub.InForce()) != text(t, now) {
		t.Error("another configuration is in force")
	}
	// The document may be equal while the objects it names differ.
	published := h.pub.Published()
	r = h.restoring(shop("a", 8080), shop("b", 8090))
	if got, err = h.Restore(t.Context(), root, "again", r.Restoration); err != nil || got.Revision.Number != 3 || h.pub.Published() != published+1 {
		t.Errorf("%v: revision %d", err, got.Revision.Number)
	}
	if _, err := h.Rollback(t.Context(), root, "", 0, 1); err != nil {
		t.Fatal(err)
	}
	if now, _ := h.Current(); !reflect.DeepEqual(now.Farms[0].ID, before.Farms[0].ID) || len(now.Farms) != 1 {
		t.Error("the restore cannot be undone")
	}
}

func TestFailedStartOfARestoreChangesNothing(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	was := h.moment()
	r := h.restoring()
	refused := errors.New("no room for the archive")
	r.Begin = func() error { return refused }
	if _, err := h.Restore(t.Context(), root, "", r.Restoration); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := h.Restore(apply.DryRun(t.Context()), root, "", r.Restoration); !errors.Is(err, apply.ErrDryRun) {
		t.Errorf("tried: %v", err)
	}
	if now := h.moment(); !reflect.DeepEqual(now, was) {
		t.Errorf("%+v, before %+v", now, was)
	}
}

func TestRefusedRestoreChangesNothing(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	now := h.moment()
	refuse := func(what, steps string, r *restoring, part string) {
		t.Helper()
		_, err := h.Restore(t.Context(), root, "", r.Restoration)
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", what, err)
		}
		if got := strings.Join(r.steps, " "); got != steps {
			t.Errorf("%s: steps %q, want %q", what, got, steps)
		}
		if !reflect.DeepEqual(h.moment(), now) {
			t.Errorf("%s: something changed", what)
		}
	}
	bad := shop("b", 8090)
	bad.VPort = 0
	refuse("a document that is wrong", "swap undo", h.restoring(bad), "vport")
	r := h.restoring(shop("a", 8080), shop("b", 8090))
	r.Keep = func(*farm.Config, store.Meta) (store.Revision, error) { return store.Revision{}, errors.New("no disk") }
	refuse("a disk that says no", "swap undo undo", r, "no disk")
	h.pub.Answer(func(cfg *farm.Config) (apply.Outcome, error) {
		if len(cfg.Farms) == 1 && cfg.Farms[0].Name == "a" && len(r.steps) > 0 && r.steps[len(r.steps)-1] == "undo" {
			return apply.Outcome{}, nil
		}
		return apply.Outcome{FarmErrors: map[uint32]string{1: "no certificate"}}, nil
	})
	r = h.restoring(shop("a", 8080))
	refuse("a farm that stays as it is and fails", "swap undo undo", r, "no certificate")
	r = h.restoring(shop("a", 8080), shop("b", 8090))
	refuse("a farm that stays as it is beside a new one, and fails", "swap undo undo", r, "no certificate")
	h.pub.Answer(nil)
	r = h.restoring(shop("b", 8090))
	if _, err := h.Restore(apply.DryRun(t.Context()), root, "", r.Restoration); !errors.Is(err, apply.ErrDryRun) {
		t.Errorf("only tried: %v", err)
	}
	r.took(t, "swap undo")
	if _, err := h.Restore(t.Context(), root, strings.Repeat("x", 2000), h.restoring().Restoration); err == nil {
		t.Error("a comment that is too long is accepted")
	}
	if !reflect.DeepEqual(h.moment(), now) {
		t.Error("something changed")
	}
}
