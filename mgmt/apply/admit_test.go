package apply_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

var errRevoked = errors.New("not any more")

// doorman admits authors until err is set.
type doorman struct {
	err    error
	rights int
	seen   []uint64 // revisions
}

func (d *doorman) admits() context.Context {
	return apply.WithAdmission(context.Background(), apply.Admission{
		Admit:  func(_ *farm.Config, revision uint64) error { d.seen = append(d.seen, revision); return d.err },
		Rights: func() any { return d.rights },
	})
}

// A change that had given up its turn is admitted again, with the configuration of that time.
func TestAChangeThatWaitedIsAdmittedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*house, *doorman)
		err       error
		seen      []uint64
	}{
		"nothing happens":     {func(*house, *doorman) {}, nil, []uint64{1}},
		"another change":      {func(h *house, _ *doorman) { h.must(add(shop("new", 8082))) }, nil, []uint64{1, 2}},
		"the rights differ":   {func(_ *house, d *doorman) { d.rights++ }, nil, []uint64{1, 1}},
		"the rights are gone": {func(_ *house, d *doorman) { d.rights++; d.err = errRevoked }, errRevoked, []uint64{1, 1}},
		"gone, and a change": {func(h *house, d *doorman) {
			d.err = errRevoked
			h.must(add(shop("new", 8082)))
		}, errRevoked, []uint64{1, 2}},
	} {
		for _, transaction := range []bool{false, true} {
			h, names := slowHouse(t)
			h.name("web.test", "192.0.2.7")
			h.must(add(shop("old", 8080)))
			d := &doorman{}
			end := names.begin(t, func() (err error) {
				ctx := d.admits()
				if !transaction {
					_, err = h.Change(ctx, root, "slow", 0, add(hosted("slow", 8081, "web.test")))
					return err
				}
				_, err = h.Transact(ctx, root, "slow", 0, func(draft *apply.Draft) error {
					_, err := draft.Change(apply.InDraft(ctx, draft), root, "slow", 0, add(hosted("slow", 8081, "web.test")))
					return err
				})
				return err
			})
			c.meanwhile(h, d)
			err := end()
			made := slices.Contains(farmNames(h), "slow")
			if !errors.Is(err, c.err) || !slices.Equal(d.seen, c.seen) || made != (c.err == nil) {
				t.Errorf("%s, in a transaction %t: %v, admitted at %v, made %t", name, transaction, err, d.seen, made)
			}
		}
	}
}

// Everything that changes the appliance with the turn to write is admitted.
func TestEverythingThatHasTheTurnIsAdmitted(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8090)); err != nil {
		t.Fatal(err)
	}
	before, _ := h.Current()
	published := h.pub.Published()
	d := &doorman{err: errRevoked}
	for name, do := range map[string]func(context.Context) error{
		"change": func(ctx context.Context) error {
			_, err := h.Change(ctx, root, "", 0, func(*farm.Config) error { t.Error("it is edited"); return nil })
			return err
		},
		"a farm": func(ctx context.Context) error {
			_, err := h.ChangeFarm(ctx, root, "", 0, "a", port("a", 8082))
			return err
		},
		"transaction": func(ctx context.Context) error { _, err := h.Transact(ctx, root, "", 0, nil); return err },
		"document":    func(ctx context.Context) error { _, err := h.Replace(ctx, root, "", 0, &farm.Config{}); return err },
		"part":        func(ctx context.Context) error { _, err := h.Merge(ctx, root, "", 0, &farm.Config{}); return err },
		"rollback":    func(ctx context.Context) error { _, err := h.Rollback(ctx, root, "", 0, 1); return err },
		"restart":     func(ctx context.Context) error { _, err := h.Restart(ctx, root, "a"); return err },
		"renewal":     func(ctx context.Context) error { return h.Renew(ctx, nil) },
		"confirm":     func(ctx context.Context) error { return h.Confirm(ctx, root, 2, "") },
		"take back":   func(ctx context.Context) error { _, err := h.TakeBack(ctx, root, 2); return err },
	} {
		if err := do(d.admits()); !errors.Is(err, errRevoked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, _ := h.Current(); now != before || h.Pending() == nil || h.pub.Published() != published {
		t.Error("something changed")
	}
}

// Documents that belong to a revision are written with it, or not at all.
func TestDocumentsAreWrittenWithTheirRevision(t *testing.T) {
	h := newHouse(t)
	var fails error
	ctx := apply.WithAlong(wait(time.Hour), func(cfg *farm.Config, commit func(map[string]any) error) error {
		if fails != nil {
			return fails
		}
		return commit(map[string]any{"owners": cfg.Farm("a").ID})
	})
	fails = errRevoked
	if _, err := h.Change(ctx, root, "", 0, add(shop("a", 8080))); !errors.Is(err, errRevoked) || h.Pending() != nil {
		t.Fatalf("%v, pending %v", err, h.Pending())
	}
	fails = nil
	if _, err := h.Change(ctx, root, "", 0, add(shop("a", 8080))); err != nil {
		t.Fatal(err)
	}
	cfg, _ := h.Current()
	var id uint32
	if found, err := h.store.ReadDocument("owners", &id); !found || err != nil || id != cfg.Farm("a").ID {
		t.Errorf("%t %v, number %d", found, err, id)
	}
	if next := h.again(); next.Pending() == nil {
		t.Error("the pending change is lost")
	}
}
