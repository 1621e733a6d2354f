package apply_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// steps applies edits to a draft one after another.
func steps(edits ...func(*farm.Config) error) func(*apply.Draft) error {
	return func(d *apply.Draft) error {
		for i, edit := range edits {
			if _, err := d.Change(context.Background(), apply.Author{}, fmt.Sprint("step ", i), 0, edit); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestATransactionIsOneRevisionAndOnePublication(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("old", 8080)))
	published := h.pub.Published()
	var seen [][]uint32
	r, err := h.Transact(context.Background(), root, "", 1, steps(
		add(shop("a", 8181)), add(shop("b", 8182)),
		func(c *farm.Config) error {
			seen = append(seen, []uint32{c.Farms[0].ID, c.Farms[1].ID, c.Farms[2].ID})
			c.Farm("a").Name = "z"
			return nil
		},
		func(c *farm.Config) error { c.Farms[0].VPort = 8079; return nil },
		func(c *farm.Config) error { c.Farms = append(c.Farms, shop("c", 8080)); return nil }, // released by the step before
	))
	if err != nil {
		t.Fatal(err)
	}
	cfg, rev := h.Current()
	var names []string
	ids := map[uint32]bool{}
	for _, f := range cfg.Farms {
		names, ids[f.ID] = append(names, f.Name), true
	}
	if !reflect.DeepEqual(names, []string{"old", "z", "b", "c"}) || rev.Number != 2 || h.pub.Published() != published+1 || len(ids) != 4 || ids[0] {
		t.Errorf("%v, revision %d, %d publications, IDs %v", names, rev.Number, h.pub.Published()-published, ids)
	}
	if r.Revision.Number != 2 || rev.Comment != "transaction: step 0; step 1; step 2; step 3; step 4" || !strings.Contains(r.Diff, "+  - name: z") {
		t.Errorf("revision %+v", rev)
	}
	if s := seen[0]; s[0] == s[1] || s[1] == s[2] || s[1] == 0 {
		t.Errorf("new objects had the IDs %v", s)
	}
}

func TestTransactionIsAtomic(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		do     func(*apply.Draft) error
		expect uint64
		check  func(error) bool
	}{
		"a step that is refused": {steps(add(shop("a", 8181)), func(*farm.Config) error { return boom }), 0, func(err error) bool { return err == boom }},
		"a step that breaks a rule": {steps(add(shop("a", 8181)), port("a", 0), port("a", 8182)), 0, func(err error) bool {
			return strings.Contains(err.Error(), "vport")
		}},
		"steps that collide": {steps(add(shop("a", 8181)), add(shop("b", 8181))), 0, func(err error) bool {
			return strings.Contains(err.Error(), "8181")
		}},
		"what somebody else changed": {steps(add(shop("a", 8181))), 7, func(err error) bool { return errors.Is(err, apply.ErrConflict) }},
		"the engine": {steps(add(shop("a", 8181)), add(shop("refused", 8182))), 0, func(err error) bool {
			return strings.Contains(err.Error(), "not this one")
		}},
	} {
		h := newHouse(t)
		h.must(add(shop("old", 8080)))
		h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
			if c.Farm("refused") != nil {
				return apply.Outcome{}, &apply.Refused{Reason: "not this one"}
			}
			return apply.Outcome{}, nil
		})
		was := h.moment()
		if _, err := h.Transact(context.Background(), root, "", c.expect, c.do); err == nil || !c.check(err) {
			t.Errorf("%s: %v", name, err)
		}
		if now := h.moment(); now != was {
			t.Errorf("%s: something changed: %+v, was %+v", name, now, was)
		}
		h.must(add(shop("next", 8090))) // no lock is left behind
	}
}

func TestTransactionSupportsDryRunAndTrial(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("old", 8080)))
	do := steps(add(shop("a", 8181)), port("old", 8079))
	was := h.moment()
	r, err := h.Transact(apply.DryRun(context.Background()), root, "", 0, do)
	if !errors.Is(err, apply.ErrDryRun) || !strings.Contains(r.Diff, "+  - name: a") {
		t.Errorf("a dry run: %v\n%s", err, r.Diff)
	}
	if now := h.moment(); now != was {
		t.Errorf("something changed: %+v, was %+v", now, was)
	}
	if r, err := h.Transact(context.Background(), root, "", 0, steps()); err != nil || !r.Unchanged {
		t.Errorf("an empty one: %v", err)
	}
	if _, err := h.Transact(wait(time.Minute), root, "both", 0, do); err != nil || h.Pending() == nil || !reflect.DeepEqual(h.Pending().Farms, []string{"old", "a"}) || h.Pending().Comment != "both" {
		t.Errorf("on trial: %v %+v", err, h.Pending())
	}
	if err := h.GoBack(context.Background(), 2, "", "x"); err != nil {
		t.Fatal(err)
	}
	if cfg, _ := h.Current(); len(cfg.Farms) != 1 || cfg.Farms[0].VPort != 8080 {
		t.Errorf("after going back: %+v", cfg.Farms)
	}
	if _, err := h.Transact(context.Background(), root, strings.Repeat("x", apply.MaxComment+1), 0, do); err == nil {
		t.Error("a comment that is too long is accepted")
	}
	many := make([]func(*farm.Config) error, 300)
	for i := range many {
		many[i] = port("old", uint16(9000+i))
	}
	h.must(port("old", 7000))
	if r, err := h.Transact(context.Background(), root, "", 0, steps(many...)); err != nil || len(r.Revision.Comment) > apply.MaxComment {
		t.Errorf("%v, a comment of %d bytes", err, len(r.Revision.Comment))
	}
}

func TestDraftImplementsApplier(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	h.must(add(shop("b", 8090)))
	ctx := context.Background()
	before, _ := h.Current()
	_, err := h.Transact(ctx, root, "", 0, func(d *apply.Draft) error {
		if cfg, rev := d.Current(); len(cfg.Farms) != 2 || rev.Number != 2 {
			t.Errorf("begins with %d farms at %d", len(cfg.Farms), rev.Number)
		}
		if _, err := d.Restart(ctx, root, "a"); !errors.Is(err, apply.ErrNoConfiguration) {
			t.Errorf("a restart: %v", err)
		}
		if _, err := d.Restart(ctx, root, "none"); !errors.Is(err, apply.ErrNotFound) {
			t.Errorf("a restart of no farm: %v", err)
		}
		stop := func(c *farm.Config) error { c.Farm("a").Stopped = true; return nil }
		if err := steps(stop)(d); err != nil {
			return err
		}
		if _, err := d.Restart(ctx, root, "a"); err != nil {
			return err
		}
		if cfg, _ := d.Current(); cfg.Farm("a").Stopped {
			t.Error("a start did not start")
		}
		in := apply.InDraft(ctx, d)
		if r, err := h.Rollback(in, root, "", 0, 1); err != nil || len(r.Config.Farms) != 1 || r.Revision.Number != 2 {
			t.Errorf("a rollback: %v %+v", err, r)
		}
		if _, err := h.Rollback(in, root, "", 0, 9); !errors.Is(err, apply.ErrNotFound) {
			t.Errorf("rollback to a missing revision: %v", err)
		}
		if _, err := h.Restart(in, root, "a"); !errors.Is(err, apply.ErrNoConfiguration) {
			t.Errorf("a restart through the applier: %v", err)
		}
		if err := h.Renew(in, nil); !errors.Is(err, apply.ErrNoConfiguration) {
			t.Errorf("a renewal: %v", err)
		}
		next := &farm.Config{Farms: []farm.Farm{shop("c", 8070)}}
		if r, err := h.Plan(in, next); err != nil || !strings.Contains(r.Diff, "+  - name: c") {
			t.Errorf("a plan: %v", err)
		}
		if cfg, _ := h.CurrentIn(in); cfg.Farm("c") != nil {
			t.Error("a plan was carried out")
		}
		_, err := h.Replace(in, root, "", 0, next)
		if cfg, _ := h.CurrentIn(in); cfg.Farm("c") == nil || !d.Made(cfg.Farm("c").ID) || d.Made(before.Farms[0].ID) {
			t.Error("Made does not report what the draft created")
		}
		if cfg, _ := h.CurrentIn(ctx); cfg.Farm("c") != nil {
			t.Error("the draft is visible outside")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg, _ := h.Current(); len(cfg.Farms) != 1 || cfg.Farms[0].Name != "c" {
		t.Errorf("%+v", cfg.Farms)
	}
}

// Farms may swap unique settings, because the transaction is checked as a whole.
func TestATransactionIsCheckedAsAWhole(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	h.must(add(shop("b", 8090)))
	swap := func(b uint16) error {
		_, err := h.Transact(context.Background(), root, "", 0, func(d *apply.Draft) error {
			if _, err := d.Change(context.Background(), root, "a", 0, port("a", 8090)); err != nil {
				return err
			}
			_, err := d.Change(context.Background(), root, "b", 0, port("b", b))
			return err
		})
		return err
	}
	if err := swap(8080); err != nil {
		t.Fatal(err)
	}
	if cfg, _ := h.Current(); cfg.Farm("a").VPort != 8090 || cfg.Farm("b").VPort != 8080 {
		t.Errorf("%s", text(t, cfg))
	}
	var broken *field.Error
	if err := swap(8090); !errors.As(err, &broken) {
		t.Errorf("both at one port: %v", err)
	}
}
