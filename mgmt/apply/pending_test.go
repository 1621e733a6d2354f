package apply_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// watch is a settable clock.
type watch struct {
	mu sync.Mutex
	at time.Time
}

func newWatch() *watch { return &watch{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (w *watch) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watch) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func wait(d time.Duration) context.Context {
	return apply.OnTrial(context.Background(), apply.Trial{Wait: d})
}

func port(name string, vport uint16) func(*farm.Config) error {
	return func(c *farm.Config) error { c.Farm(name).VPort = vport; return nil }
}

// again reopens the store of a house, like a process after a kill.
func (h *house) again(options ...apply.Option) *house {
	h.t.Helper()
	if err := h.store.Close(); err != nil {
		h.t.Fatal(err)
	}
	st, err := store.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { st.Close() })
	next := &house{t: h.t, dir: h.dir, store: st, pub: h.pub}
	next.Applier = apply.New(st, h.pub, append([]apply.Option{apply.WithRules(validate.Rules{}), apply.WithNames(&next.names)}, options...)...)
	return next
}

func TestTrialIsRevertedUnlessConfirmed(t *testing.T) {
	clock, log := newWatch(), &logtest.Log{}
	var ended []apply.Ended
	h := newHouse(t, apply.WithClock(clock.now), apply.WithEnded(func(e apply.Ended) { ended = append(ended, e) }), apply.WithLog(slog.New(slog.NewTextHandler(log, nil))))
	h.must(add(shop("a", 8080)))
	before, _ := h.Current()
	id := before.Farms[0].ID
	for _, confirm := range []bool{true, false} {
		r, err := h.Change(wait(5*time.Minute), apply.Author{Name: "ann", Source: "api"}, "another port", 0, port("a", 8181))
		if err != nil {
			t.Fatal(err)
		}
		p := h.Pending()
		if p == nil || r.Pending != p || p.Revision != r.Revision.Number || p.Base != p.Revision-1 || p.By.Name != "ann" || p.Comment != "another port" ||
			!p.Until.Equal(clock.now().Add(5*time.Minute)) || len(p.Farms) != 1 || p.Farms[0] != "a" {
			t.Fatalf("pending %+v", p)
		}
		<-h.PendingChanged()
		if confirm {
			if err := h.Confirm(context.Background(), root, p.Revision, ""); err != nil {
				t.Fatal(err)
			}
			h.must(port("a", 8080))
		} else if err := h.GoBack(context.Background(), p.Revision, apply.TimerSource, apply.NotConfirmed); err != nil {
			t.Fatal(err)
		}
		<-h.PendingChanged()
		cfg, rev := h.Current()
		if cfg.Farms[0].VPort != 8080 || cfg.Farms[0].ID != id || h.Pending() != nil || text(t, h.pub.InForce()) != text(t, cfg) {
			t.Errorf("port %d, pending %v", cfg.Farms[0].VPort, h.Pending())
		}
		if !confirm && (rev.Number != p.Revision+1 || rev.Author != "ann" || rev.Source != "confirm" || rev.Comment != "not confirmed: back to revision 3") {
			t.Errorf("revision %+v", rev)
		}
		last := h.LastEnded()
		want := map[bool]string{true: apply.Confirmed, false: apply.WentBack}[confirm]
		if last.Outcome != want || last.Revision != p.Revision || !log.Has(want) || ended[len(ended)-1].Outcome != want {
			t.Errorf("ended %+v, logged %+v\n%s", last, ended, log)
		}
	}
	if _, found := storedPending(t, h.store); found {
		t.Error("a change that ended is stored")
	}
}

func storedPending(t *testing.T, s *store.Store) (p apply.Pending, found bool) {
	t.Helper()
	found, err := s.ReadDocument("history-pending", &p)
	if err != nil {
		t.Fatal(err)
	}
	return p, found
}

func TestPendingChangeBlocksConflictingChanges(t *testing.T) {
	clock := newWatch()
	h := newHouse(t, apply.WithClock(clock.now))
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	was := h.moment()
	clock.pass(20 * time.Minute)
	refused := func(what string, err error) {
		t.Helper()
		var pending *apply.PendingError
		if !errors.As(err, &pending) || pending.Left != 40*time.Minute || !strings.Contains(err.Error(), "revision 2 of root is pending and goes back in 40m0s") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := h.Change(context.Background(), root, "", 0, port("a", 8282))
	refused("another change", err)
	_, err = h.Change(wait(time.Minute), root, "", 0, add(shop("b", 9090)))
	refused("another on trial", err)
	_, err = h.Change(apply.DryRun(context.Background()), root, "", 0, port("a", 8282))
	refused("a dry run", err)
	_, err = h.Change(wait(2*time.Hour), root, "", 0, port("a", 8181))
	refused("the same with another time", err)
	if now := h.moment(); now != was {
		t.Errorf("something changed: %+v, was %+v", now, was)
	}
	if r, err := h.Change(context.Background(), root, "", 0, func(*farm.Config) error { return nil }); err != nil || !r.Unchanged {
		t.Errorf("a change that changes nothing: %v", err)
	}
	if _, err := h.Restart(context.Background(), root, "a"); err != nil {
		t.Errorf("a restart: %v", err)
	}
	if err := h.Confirm(context.Background(), root, 1, ""); !errors.Is(err, apply.ErrNotPending) {
		t.Errorf("confirming another revision: %v", err)
	}
	if err := h.GoBack(context.Background(), 1, "", ""); !errors.Is(err, apply.ErrNotPending) {
		t.Errorf("going back from another revision: %v", err)
	}
	if err := h.Confirm(apply.DryRun(context.Background()), root, 2, ""); !errors.Is(err, apply.ErrDryRun) || h.Pending() == nil {
		t.Errorf("a trial of confirming: %v", err)
	}
	if r, err := h.Rollback(context.Background(), apply.Author{Name: "bob"}, "", 0, 1); err != nil || r.Revision.Number != 3 || h.Pending() != nil {
		t.Errorf("rollback: %v %+v", err, r.Revision)
	}
	if last := h.LastEnded(); last.Outcome != apply.TakenBack || last.Author.Name != "bob" || last.Now != 3 {
		t.Errorf("ended %+v", last)
	}
	if _, found := storedPending(t, h.store); found {
		t.Error("it is still stored")
	}
	h.must(add(shop("b", 9090)))
}

func TestARefusedChangeIsNotPending(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		if c.Farms[0].VPort != 8080 {
			return apply.Outcome{}, &apply.Refused{Reason: "no"}
		}
		return apply.Outcome{}, nil
	})
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8181)); err == nil {
		t.Fatal("it was accepted")
	}
	for _, d := range []time.Duration{0, time.Second - 1, 24*time.Hour + 1} {
		var broken *field.Error
		if _, err := h.Change(wait(d), root, "", 0, port("a", 8182)); !errors.As(err, &broken) || broken.Field != "confirm" {
			t.Errorf("%v: %v", d, err)
		}
	}
	h.pub.Answer(nil)
	for _, d := range []time.Duration{time.Second, 24 * time.Hour} {
		if _, err := h.Change(apply.DryRun(wait(d)), root, "", 0, port("a", 8182)); !errors.Is(err, apply.ErrDryRun) {
			t.Errorf("%v, a dry run: %v", d, err)
		}
	}
	if r, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8080)); err != nil || !r.Unchanged {
		t.Errorf("no change: %v", err)
	}
	if _, stored := storedPending(t, h.store); h.Pending() != nil || stored {
		t.Error("something is pending")
	}
}

func TestAGuardThatCannotWatchRefusesTheChange(t *testing.T) {
	h := newHouse(t)
	no := errors.New("nothing to watch")
	var asked []string
	guard := func(cfg *farm.Config, touched []string) (json.RawMessage, error) {
		asked = touched
		if cfg.Farm(touched[0]).VPort == 8181 {
			return nil, no
		}
		return json.RawMessage(`"x"`), nil
	}
	h.must(add(shop("a", 8080)))
	h.must(add(shop("other", 8090)))
	ctx := apply.OnTrial(context.Background(), apply.Trial{Wait: time.Minute, Guard: guard})
	was := h.moment()
	for _, ctx := range []context.Context{ctx, apply.DryRun(ctx)} {
		if _, err := h.Change(ctx, root, "", 0, port("a", 8181)); err != no || len(asked) != 1 || asked[0] != "a" {
			t.Errorf("%v, guard called for %v", err, asked)
		}
	}
	if now := h.moment(); now != was {
		t.Errorf("something changed: %+v, was %+v", now, was)
	}
	if _, err := h.Change(ctx, root, "", 0, port("a", 8182)); err != nil || string(h.Pending().Guard) != `"x"` {
		t.Errorf("%v, pending %+v", err, h.Pending())
	}
}

func TestAPendingChangeSurvivesItsProcess(t *testing.T) {
	clock := newWatch()
	h := newHouse(t, apply.WithClock(clock.now))
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(10*time.Minute), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	clock.pass(10*time.Minute - 1)
	h = h.again(apply.WithClock(clock.now))
	if p := h.Pending(); p == nil || p.Revision != 2 || p.Base != 1 {
		t.Fatalf("pending %+v", p)
	}
	if len(h.PendingChanged()) != 1 {
		t.Error("the pending change is not reported")
	}
	if _, err := h.Change(context.Background(), root, "", 0, port("a", 8282)); err == nil {
		t.Error("another change is accepted")
	}
	clock.pass(1)
	published := h.pub.Published()
	h = h.again(apply.WithClock(clock.now))
	cfg, rev := h.Current()
	if cfg.Farms[0].VPort != 8080 || rev.Number != 3 || rev.Comment != "not confirmed: back to revision 1" || h.Pending() != nil || h.pub.Published() != published {
		t.Errorf("port %d, revision %+v, pending %+v", cfg.Farms[0].VPort, rev, h.Pending())
	}
	if _, found := storedPending(t, h.store); found {
		t.Error("it is still stored")
	}
	h = h.again(apply.WithClock(clock.now))
	if _, rev := h.Current(); rev.Number != 3 {
		t.Errorf("it was rolled back twice: %+v", rev)
	}
	if _, err := h.Republish(context.Background()); err != nil || h.pub.InForce().Farms[0].VPort != 8080 {
		t.Errorf("published: %v", err)
	}
}

// A clock change while the process is down neither extends a trial nor prevents its revert.
func TestClockChangeDoesNotAffectAPendingChange(t *testing.T) {
	const day = 24 * time.Hour
	for jump, left := range map[time.Duration]time.Duration{-day: 10 * time.Minute, -time.Minute: 10 * time.Minute, time.Minute: 9 * time.Minute} {
		clock := newWatch()
		h := newHouse(t, apply.WithClock(clock.now))
		h.must(add(shop("a", 8080)))
		if _, err := h.Change(wait(10*time.Minute), root, "", 0, port("a", 8181)); err != nil {
			t.Fatal(err)
		}
		clock.pass(jump)
		h = h.again(apply.WithClock(clock.now))
		if p := h.Pending(); p == nil || !p.Until.Equal(clock.now().Add(left)) {
			t.Errorf("%v: %+v at %v", jump, p, clock.now())
		}
	}
	clock := newWatch()
	h := newHouse(t, apply.WithClock(clock.now))
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(10*time.Minute), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	clock.pass(day)
	h = h.again(apply.WithClock(clock.now))
	if cfg, _ := h.Current(); h.Pending() != nil || cfg.Farm("a").VPort != 8080 {
		t.Errorf("a day ahead: %+v", h.Pending())
	}
}

func TestAPendingChangeOfAnotherRevisionIsForgotten(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if err := h.store.WriteDocument("history-pending", apply.Pending{Revision: 7, Base: 6}); err != nil {
		t.Fatal(err)
	}
	h = h.again()
	if _, found := storedPending(t, h.store); h.Pending() != nil || found {
		t.Error("it is pending")
	}
}

func TestFailedRevertStaysPending(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Minute), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	was := h.moment()
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		if c.Farms[0].VPort == 8080 {
			return apply.Outcome{}, apply.ErrUnavailable
		}
		return apply.Outcome{}, nil
	})
	if err := h.GoBack(context.Background(), 2, "", "x"); !errors.Is(err, apply.ErrUnavailable) || h.Pending() == nil {
		t.Errorf("%v, pending %+v", err, h.Pending())
	}
	if now := h.moment(); now != was {
		t.Errorf("something changed: %+v, was %+v", now, was)
	}
	// The revert succeeds even if a farm no longer runs.
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		return apply.Outcome{FarmErrors: map[uint32]string{c.Farms[0].ID: "address in use"}}, nil
	})
	if err := h.GoBack(context.Background(), 2, "guard", strings.Repeat("ä", 600)); err != nil || h.Pending() != nil || len(h.Problems()) != 1 {
		t.Errorf("%v, pending %+v, problems %v", err, h.Pending(), h.Problems())
	}
	if _, rev := h.Current(); len(rev.Comment) > apply.MaxComment || !strings.HasSuffix(rev.Comment, "ä…") {
		t.Errorf("comment of %d bytes: %s", len(rev.Comment), rev.Comment)
	}
}

func TestMachineSettingsAreReverted(t *testing.T) {
	m := &machine{}
	h := newHouse(t, apply.WithMachine(m))
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Minute), root, "", 0, ntp("ntp.example")); err != nil {
		t.Fatal(err)
	}
	published := h.pub.Published()
	if err := h.GoBack(context.Background(), 2, "confirm", "x"); err != nil {
		t.Fatal(err)
	}
	cfg, _ := h.Current()
	if cfg.System.NTP.Server != "" || len(m.settled) != 2 || m.settled[1].NTP.Server != "" || h.pub.Published() != published {
		t.Errorf("settings %+v, the machine got %+v, %d publications", cfg.System.NTP, m.settled, h.pub.Published()-published)
	}
	if _, err := h.Change(wait(time.Minute), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	if err := h.GoBack(context.Background(), 4, "confirm", "x"); err != nil || len(m.settled) != 2 || h.pub.InForce().Farms[0].VPort != 8080 {
		t.Errorf("%v, %d calls to the machine", err, len(m.settled))
	}
}

func TestRestoreIsRefusedWhileAChangeIsPending(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	was := h.moment()
	var pending *apply.PendingError
	r := h.restoring(shop("a", 8080))
	if _, err := h.Restore(context.Background(), root, "", r.Restoration); !errors.As(err, &pending) {
		t.Error(err)
	}
	if r.took(t, "swap undo"); h.moment() != was {
		t.Error("something changed")
	}
}

func TestPendingChangeIsRevertedEarly(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	bob := apply.Author{Name: "bob", Source: "api"}
	if _, err := h.TakeBack(apply.DryRun(context.Background()), bob, 2); !errors.Is(err, apply.ErrDryRun) || h.Pending() == nil {
		t.Errorf("a dry run: %v", err)
	}
	if _, err := h.TakeBack(context.Background(), bob, 1); !errors.Is(err, apply.ErrNotPending) {
		t.Errorf("another revision: %v", err)
	}
	r, err := h.TakeBack(context.Background(), bob, 2)
	if err != nil || r.Revision.Number != 3 || r.Revision.Author != "bob" || r.Revision.Comment != "taken back: back to revision 1" || r.Config.Farms[0].VPort != 8080 {
		t.Errorf("%v %+v", err, r.Revision)
	}
	if last := h.LastEnded(); last.Outcome != apply.TakenBack || last.Author != bob || last.Now != 3 {
		t.Errorf("ended %+v", last)
	}
}
