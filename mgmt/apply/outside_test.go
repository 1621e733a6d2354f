package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// lateNames are names whose server answers only after answer is closed.
type lateNames struct {
	*applytest.Names
	asked  chan string
	answer chan struct{}
}

func newLateNames(names *applytest.Names) *lateNames {
	return &lateNames{Names: names, asked: make(chan string, 100), answer: make(chan struct{})}
}

func (s *lateNames) Ask(ctx context.Context, q resolve.Question) ([]resolve.Target, error) {
	s.asked <- q.Name
	select {
	case <-s.answer:
		return s.Names.Ask(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowHouse is a house whose names are slow.
func slowHouse(t *testing.T, options ...apply.Option) (*house, *lateNames) {
	t.Helper()
	h := newHouse(t)
	s := newLateNames(&h.names)
	h.Applier = apply.New(h.store, h.pub, append([]apply.Option{apply.WithRules(validate.Rules{}), apply.WithNames(s)}, options...)...)
	return h, s
}

func hosted(name string, vport uint16, host string) farm.Farm {
	f := shop(name, vport)
	f.HTTP.Services[0].Backends[0].Host = host
	return f
}

// begin runs do, which asks for a name, and returns its error after end.
func (s *lateNames) begin(t *testing.T, do func() error) (end func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	within(t, s.asked)
	return func() error {
		close(s.answer)
		return within(t, done)
	}
}

// within returns what arrives, and fails if that takes too long.
func within[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("it takes too long")
	}
	return v
}

func farmNames(h *house) (out []string) {
	cfg, _ := h.Current()
	for _, f := range cfg.Farms {
		out = append(out, f.Name)
	}
	return out
}

func TestAChangeThatWaitsForANameServerDelaysNoOther(t *testing.T) {
	h, names := slowHouse(t)
	h.name("web.test", "192.0.2.7")
	h.must(add(shop("old", 8080)))
	edits := 0
	end := names.begin(t, func() error {
		_, err := h.Change(context.Background(), root, "slow", 0, func(c *farm.Config) error {
			edits++
			return add(hosted("slow", 8081, "web.test"))(c)
		})
		return err
	})
	h.must(add(shop("new", 8082)))
	if _, err := h.Republish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil || edits != 2 || h.names.Asked("web.test") != 1 {
		t.Errorf("%v, %d edits, asked %d times", err, edits, h.names.Asked("web.test"))
	}
	cfg, rev := h.Current()
	if got := farmNames(h); !slices.Equal(got, []string{"old", "new", "slow"}) || rev.Number != 3 ||
		cfg.Farms[2].HTTP.Services[0].Backends[0].Addr.String() != "192.0.2.7" {
		t.Errorf("farms %v, revision %d", got, rev.Number)
	}
	if !reflect.DeepEqual(cfg, h.pub.InForce()) {
		t.Error("another configuration is in force")
	}
}

func TestAChangeIsMadeOnceIfNoOtherCameFirst(t *testing.T) {
	h, names := slowHouse(t)
	edits := 0
	end := names.begin(t, func() error {
		_, err := h.Change(context.Background(), root, "slow", 0, func(c *farm.Config) error {
			edits++
			return add(hosted("slow", 8081, "web.test"))(c)
		})
		return err
	})
	var invalid *field.Error
	if err := end(); !errors.As(err, &invalid) || edits != 1 {
		t.Errorf("%v, %d edits", err, edits)
	}
	h.must(add(shop("new", 8082))) // the turn is free again
}

// A change that expects a revision must not follow another one.
func TestAChangeThatExpectsARevisionIsRefusedIfAnotherCameFirst(t *testing.T) {
	h, names := slowHouse(t)
	h.name("web.test", "192.0.2.7")
	h.must(add(shop("old", 8080)))
	end := names.begin(t, func() error {
		_, err := h.Change(context.Background(), root, "slow", 1, add(hosted("slow", 8081, "web.test")))
		return err
	})
	h.must(add(shop("new", 8082)))
	if err := end(); !errors.Is(err, apply.ErrConflict) || !slices.Equal(farmNames(h), []string{"old", "new"}) {
		t.Errorf("%v, farms %v", err, farmNames(h))
	}
}

// The caller may accept another revision, e.g. if only another farm changed.
func TestAChangeThatToleratesARevisionFollowsAnotherChange(t *testing.T) {
	h, names := slowHouse(t)
	h.name("web.test", "192.0.2.7")
	h.must(add(shop("old", 8080)))
	var seen []uint64
	ctx := apply.AcceptRevision(context.Background(), func(cfg *farm.Config, revision uint64) bool {
		seen = append(seen, revision)
		return cfg.Farm("new") != nil
	})
	end := names.begin(t, func() error {
		_, err := h.Change(ctx, root, "slow", 1, add(hosted("slow", 8081, "web.test")))
		return err
	})
	h.must(add(shop("new", 8082)))
	if err := end(); err != nil || !slices.Equal(seen, []uint64{2}) || !slices.Equal(farmNames(h), []string{"old", "new", "slow"}) {
		t.Errorf("%v, farms %v, asked about %v", err, farmNames(h), seen)
	}
	if _, err := h.Change(ctx, root, "", 3, func(c *farm.Config) error { c.Farms = c.Farms[:1]; return nil }); err != nil || len(seen) != 1 {
		t.Errorf("%v, asked about %v", err, seen)
	}
	if _, err := h.Change(ctx, root, "", 3, add(shop("last", 8083))); !errors.Is(err, apply.ErrConflict) {
		t.Errorf("%v", err)
	}
}

// An object that nobody used may be deleted while a change that names it waits.
func TestAChangeThatWaitsSeesRenewals(t *testing.T) {
	for _, farms := range [][]uint32{nil, {1}} {
		h, names := slowHouse(t)
		h.name("web.test", "192.0.2.7")
		h.must(add(shop("old", 8080)))
		gone, edits := false, 0
		end := names.begin(t, func() error {
			_, err := h.Change(context.Background(), root, "slow", 0, func(c *farm.Config) error {
				if edits++; gone {
					return errors.New("it is gone")
				}
				return add(hosted("slow", 8081, "web.test"))(c)
			})
			return err
		})
		err := h.Renew(t.Context(), func(*farm.Config) (apply.Renewal, error) {
			swap, kept := func() { gone = true }, func() error { return nil }
			return apply.Renewal{Farms: farms, Swap: swap, Undo: func() {}, Keep: kept}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := end(); err == nil || err.Error() != "it is gone" || edits != 2 {
			t.Errorf("%v after %d edits", err, edits)
		}
	}
}

func TestATransactionThatWaitsForANameServerDelaysNoOther(t *testing.T) {
	h, names := slowHouse(t)
	h.name("web.test", "192.0.2.7")
	h.name("other.test", "192.0.2.8")
	times := 0
	end := names.begin(t, func() error {
		_, err := h.Transact(context.Background(), root, "", 0, func(d *apply.Draft) error {
			times++
			return stepsOf(apply.InDraft(context.Background(), d), h,
				add(hosted("slow", 8081, "web.test")), add(hosted("last", 8083, "other.test")))
		})
		return err
	})
	h.must(add(shop("new", 8082)))
	if err := end(); err != nil || times != 2 || h.names.Asked("web.test") != 1 || h.names.Asked("other.test") != 1 {
		t.Errorf("%v, %d times, asked %d and %d times", err, times, h.names.Asked("web.test"), h.names.Asked("other.test"))
	}
	if got := farmNames(h); !slices.Equal(got, []string{"new", "slow", "last"}) {
		t.Errorf("farms %v", got)
	}
}

// stepsOf makes changes one after another, as requests within a transaction do.
func stepsOf(ctx context.Context, h *house, edits ...func(*farm.Config) error) error {
	for _, edit := range edits {
		if _, err := h.Change(ctx, root, "step", 0, edit); err != nil {
			return err
		}
	}
	return nil
}

// A pending change can be confirmed while another change waits, which then sees that.
func TestAPendingChangeIsConfirmedWhileAnotherWaits(t *testing.T) {
	h, names := slowHouse(t)
	h.name("web.test", "192.0.2.7")
	h.must(add(shop("old", 8080)))
	h.must(add(shop("other", 8083)))
	r, err := h.Change(wait(time.Hour), root, "trial", 0, func(c *farm.Config) error { c.Farms[0].VPort = 8090; return nil })
	if err != nil {
		t.Fatal(err)
	}
	end := names.begin(t, func() error {
		_, err := h.Change(context.Background(), root, "slow", 0, func(c *farm.Config) error {
			b := &c.Farms[1].HTTP.Services[0].Backends[0]
			b.Host, b.Addr = "web.test", netip.Addr{}
			return nil
		})
		return err
	})
	if err := h.Confirm(t.Context(), root, r.Pending.Revision, ""); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Errorf("the change is refused: %v", err)
	}
}

// Others may change the configuration all the time.
func TestAChangeGivesUpIfOthersAlwaysComeFirst(t *testing.T) {
	h, names := slowHouse(t)
	close(names.answer)
	edits := 0
	_, err := h.Change(context.Background(), root, "slow", 0, func(c *farm.Config) error {
		edits++
		host := strings.Repeat("x", edits) + ".test" // another name at each time
		h.name(host, "192.0.2.7")
		names.answer = make(chan struct{})
		go func() {
			<-names.asked
			h.must(add(shop(strings.Repeat("y", edits), uint16(9000+edits))))
			close(names.answer)
		}()
		return add(hosted("slow", 8081, host))(c)
	})
	if !errors.Is(err, apply.ErrConflict) || edits > 20 {
		t.Errorf("%v after %d edits", err, edits)
	}
	h.must(add(shop("new", 8082)))
}

// A restoration has certificates in force that no other change may meet.
func TestARestorationAsksNameServersBeforeItsTurn(t *testing.T) {
	h, names := slowHouse(t)
	h.name("web.test", "192.0.2.7")
	h.must(add(shop("old", 8080)))
	r := h.restoring(hosted("restored", 8081, "web.test"))
	r.Begin = func() error {
		r.steps = append(r.steps, strings.Join(farmNames(h), " "))
		return nil
	}
	end := names.begin(t, func() error {
		_, err := h.Restore(context.Background(), root, "", r.Restoration)
		return err
	})
	h.must(add(shop("new", 8082)))
	r.took(t, "")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	r.took(t, "old new swap keep") // Begin sees the last change of the others
	if _, err := h.Restore(context.Background(), root, "", r.Restoration); err != nil || len(names.asked) != 0 {
		t.Errorf("%v, a known name was asked for", err)
	}
	// Under another name the farm is new, and so are its host names.
	names.answer = make(chan struct{})
	moved := h.restoring(hosted("moved", 8084, "web.test"))
	end = names.begin(t, func() error {
		_, err := h.Restore(apply.DryRun(context.Background()), root, "", moved.Restoration)
		return err
	})
	h.must(func(c *farm.Config) error { c.Farms[0].VPort++; return nil })
	moved.took(t, "")
	if err := end(); !errors.Is(err, apply.ErrDryRun) || len(names.asked) != 0 {
		t.Errorf("%v, %d more questions", err, len(names.asked))
	}
	cfg, _ := h.Current()
	if len(cfg.Farms) != 1 || cfg.Farms[0].HTTP.Services[0].Backends[0].Addr.String() != "192.0.2.7" || len(names.asked) != 0 {
		t.Errorf("farms %v, %d more questions", farmNames(h), len(names.asked))
	}
}

func TestAChangeThatWaitsForAParentZoneDelaysNoOther(t *testing.T) {
	h, parent, _ := trustHouse(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	parent.wait = func() { asked <- struct{}{}; <-answer }
	done := make(chan error, 1)
	change := func(do func() error) {
		go func() { done <- do() }()
		within(t, asked)
		_, before := h.Current()
		if r := h.must(func(c *farm.Config) error { zone(c).TTL++; return nil }); r.Revision.Number != before.Number+1 {
			t.Error("no other change was possible")
		}
		close(answer)
		if err := within(t, done); err == nil || !strings.Contains(err.Error(), "--force") {
			t.Errorf("%v", err)
		}
		asked, answer = make(chan struct{}), make(chan struct{})
	}
	n := parent.asked
	change(func() error {
		_, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error { unsign(c); return nil })
		return err
	})
	change(func() error {
		_, err := h.Restore(context.Background(), root, "", h.restoring().Restoration)
		return err
	})
	if parent.asked != n+2 {
		t.Errorf("%d questions", parent.asked-n)
	}
}

// Dead names of a transaction share one time limit. A live name after them still gets its address.
func TestDeadNamesOfATransactionShareOneTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.name("live.test", "192.0.2.7")
		h.Applier = apply.New(h.store, h.pub, apply.WithRules(validate.Rules{}), apply.WithNames(deadNames{&h.names}))
		var edits []func(*farm.Config) error
		for i := range uint16(200) {
			host := fmt.Sprintf("dead%d.test", i)
			if i == 10 {
				host = "live.test"
			}
			edits = append(edits, add(hosted(fmt.Sprint("f", i), 8000+i, host)))
		}
		began := time.Now()
		var warnings []field.Error
		r, err := h.Transact(t.Context(), root, "", 0, func(d *apply.Draft) error {
			ctx := apply.InDraft(t.Context(), d)
			for _, edit := range edits {
				r, err := h.Change(ctx, root, "step", 0, edit)
				if err != nil {
					return err
				}
				warnings = append(warnings, r.Warnings...)
			}
			return nil
		})
		if took := time.Since(began); err != nil || took < 5*time.Second || took > 11*time.Second || len(warnings) < 199 {
			t.Fatalf("after %v: %v, %d warnings", took, err, len(warnings))
		}
		if got := r.Config.Farms[10].HTTP.Services[0].Backends[0].Addr; got.String() != "192.0.2.7" {
			t.Errorf("the live name has %v", got)
		}
		first, last := warnings[0].Message, warnings[len(warnings)-1].Message
		if !strings.Contains(first, "no answer within 5s") || !strings.Contains(last, "no answer in time: other names") {
			t.Errorf("the first warning is %q, the last %q", first, last)
		}
		// A change of its own has its own time.
		began = time.Now()
		h.must(add(hosted("alone", 9000, "dead.test")))
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("a change after it took %v", took)
		}
	})
}

// deadNames never answers for unknown names.
type deadNames struct{ *applytest.Names }

func (d deadNames) Ask(ctx context.Context, q resolve.Question) ([]resolve.Target, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if targets, err := d.Names.Ask(ctx, q); err == nil {
		return targets, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}
