package trial_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var root = apply.Author{Name: "root", Source: "cli"}

// house is a watcher over a real writer, with a clock and counters of the test.
type house struct {
	t       *testing.T
	dir     string
	store   *store.Store
	pub     *applytest.Publisher
	applier *apply.Applier
	watcher *trial.Watcher
	log     logtest.Log

	mu    sync.Mutex
	at    time.Time
	farms map[uint32]stats.Farm
	times map[uint32]stats.Times
	down  map[uint32]bool
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, dir: t.TempDir(), pub: &applytest.Publisher{}, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		farms: map[uint32]stats.Farm{}, times: map[uint32]stats.Times{}, down: map[uint32]bool{}}
	h.open()
	h.change(context.Background(), func(c *farm.Config) error { c.Farms = []farm.Farm{shop("a", 8080), shop("b", 8090)}; return nil })
	return h
}

// open starts mgmt, or restarts it.
func (h *house) open() {
	h.t.Helper()
	if h.store != nil {
		if err := h.store.Close(); err != nil {
			h.t.Fatal(err)
		}
	}
	var err error
	if h.store, err = store.Open(h.dir); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { h.store.Close() })
	h.applier = apply.New(h.store, h.pub, apply.WithRules(validate.Rules{}), apply.WithNames(&applytest.Names{}), apply.WithClock(h.now))
	h.watcher = trial.New(trial.Options{Applier: h.applier, Counters: h, Health: h.health, Now: h.now, Log: slog.New(slog.NewTextHandler(&h.log, nil))})
}

func shop(name string, vport uint16) farm.Farm {
	d := farm.DefaultHTTP()
	d.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "127.0.0.1", Port: 9001}, {Host: "127.0.0.1", Port: 9002}}}}
	return farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: vport, HTTP: d}
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

func (h *house) SumFarm(id uint32) stats.Farm       { return h.farms[id] }
func (h *house) SumFarmTimes(id uint32) stats.Times { return h.times[id] }
func (h *house) health(id uint32) farm.Status {
	if h.down[id] {
		return farm.StatusDown
	}
	return farm.StatusUp
}

func (h *house) farm(name string) *farm.Farm { cfg, _ := h.applier.Current(); return cfg.Farm(name) }

// answer counts answers of a farm: good ones and failed ones, each with a duration.
func (h *house) answer(name string, good, failed uint64, took time.Duration) {
	id := h.farm(name).ID
	f, times := h.farms[id], h.times[id]
	f.Responses[1] += good
	f.Responses[4] += failed
	for range good + failed {
		times.Total.Observe(int64(took))
	}
	h.farms[id], h.times[id] = f, times
}

func (h *house) change(ctx context.Context, edit func(*farm.Config) error) {
	h.t.Helper()
	if _, err := h.applier.Change(ctx, root, "", 0, edit); err != nil {
		h.t.Fatal(err)
	}
}

// guarded changes farm a with a guard, and lets the watcher check.
func (h *house) guarded(text string) {
	h.t.Helper()
	spec, err := trial.Parse(text)
	if err != nil {
		h.t.Fatal(err)
	}
	h.change(apply.OnTrial(context.Background(), h.watcher.Guard(spec)), func(c *farm.Config) error { c.Farm("a").VPort = 8081; return nil })
	h.look()
}

func (h *house) look() time.Duration { return h.watcher.Look(context.Background()) }

// went checks that the change was reverted for a reason.
func (h *house) went(reason string) {
	h.t.Helper()
	cfg, rev := h.applier.Current()
	if h.applier.Pending() != nil || cfg.Farm("a").VPort != 8080 || rev.Source != "guard" || !strings.Contains(rev.Comment, reason+": back to revision 1") {
		h.t.Errorf("pending %+v, port %d, revision %+v, want %q", h.applier.Pending(), cfg.Farm("a").VPort, rev, reason)
	}
}

func (h *house) stays(when string) {
	h.t.Helper()
	if h.applier.Pending() == nil {
		_, rev := h.applier.Current()
		h.t.Fatalf("%s it is not pending any more: %+v", when, rev)
	}
}

func (h *house) kept(reason string) {
	h.t.Helper()
	cfg, rev := h.applier.Current()
	last := h.applier.LastEnded()
	if h.applier.Pending() != nil || cfg.Farm("a").VPort != 8081 || rev.Number != 2 || last.Outcome != apply.Confirmed || !strings.Contains(last.Reason, reason) || last.Author.Source != "guard" {
		h.t.Errorf("pending %+v, port %d, revision %+v, ended %+v, want %q", h.applier.Pending(), cfg.Farm("a").VPort, rev, last, reason)
	}
}

func TestFailingChangeIsReverted(t *testing.T) {
	h := newHouse(t)
	h.answer("a", 0, 500, time.Millisecond) // before the change, so not caused by it
	h.answer("b", 10, 0, time.Millisecond)
	h.guarded("errors<5%,10m")
	h.stays("at once")
	h.answer("b", 0, 100, time.Millisecond) // not affected
	h.answer("a", 90, 4, time.Millisecond)
	if h.pass(2 * time.Second); h.look() != 2*time.Second {
		t.Error("it does not look soon again")
	}
	h.stays("with 4.3%")
	if p := h.watcher.Progress(); p == nil || p.Revision != 2 || strings.Join(p.Measured, "") != "errors 4.26% (4 of 94 answers)" {
		t.Errorf("progress %+v", p)
	}
	h.answer("a", 0, 1, time.Millisecond)
	h.pass(2 * time.Second)
	if next := h.look(); next != 0 {
		t.Errorf("it looks again after %v, want 0", next)
	}
	h.went("errors 5.26% (5 of 95 answers) is not errors<5%")
	h.look()
	if h.watcher.Progress() != nil {
		t.Error("something is watched still")
	}
}

func TestFewAnswersAreNotJudged(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<1%,p99<1ms,1m")
	h.answer("a", 0, 19, time.Second)
	h.look()
	h.stays("with 19 answers")
	id := h.farm("a").ID
	h.farms[id] = stats.Farm{Responses: [5]uint64{0, 19, 0, 0, 1}}
	h.times[id] = stats.Times{Total: histogram(99, time.Second)}
	h.look()
	h.stays("with one failure, and 99 times")
	h.times[id] = stats.Times{Total: histogram(100, time.Second)}
	h.look()
	h.went("is not p99<1ms")
}

func histogram(n int, took time.Duration) (out stats.Histogram) {
	for range n {
		out.Observe(int64(took))
	}
	return out
}

func TestTwentyAnswersAreJudged(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<1%,1m")
	h.answer("a", 18, 2, time.Millisecond)
	h.look()
	h.went("errors 10% (2 of 20 answers) is not errors<1%")
}

func TestALateFailureIsNotLostAmongManyGoodAnswers(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<10%,1h")
	h.answer("a", 10000, 0, time.Millisecond)
	for range 40 {
		h.pass(2 * time.Second)
		h.look()
	}
	h.stays("after good ones")
	h.answer("a", 10, 30, time.Millisecond)
	h.pass(2 * time.Second)
	h.look()
	h.went("errors 75% (30 of 40 answers) in the last minute is not errors<10%")
}

func TestOnlyTheLastMinuteCounts(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<10%,1h")
	h.answer("a", 10000, 0, time.Millisecond)
	for i := range 90 {
		if i%2 == 0 { // one in four seconds: 15 in a minute, 45 in all
			h.answer("a", 0, 1, time.Millisecond)
		}
		h.pass(2 * time.Second)
		h.look()
	}
	h.stays("with few in each minute")
}

func TestTwoDownChecksRevertTheChange(t *testing.T) {
	h := newHouse(t)
	h.guarded("backends_up>=2,1m")
	down := h.farm("a").HTTP.Services[0].Backends[0].ID
	for range 2 {
		h.down[down] = true
		h.look()
		h.stays("at the first look")
		h.down[down] = false
		h.look()
		h.stays("when it is up again")
	}
	h.down[down] = true
	h.look()
	h.look()
	h.went("backends_up 1 of farm a is not backends_up>=2")
}

func TestAWindowThatEndsWellConfirms(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<1%,p99<1s,requests>=50,1m")
	h.answer("a", 50, 0, time.Millisecond)
	h.pass(time.Minute - time.Second)
	if next := h.look(); next != time.Second {
		t.Errorf("it looks after %v, want %v", next, time.Second)
	}
	h.stays("before the end")
	h.pass(time.Second)
	if next := h.look(); next != 0 {
		t.Errorf("it looks again after %v, want 0", next)
	}
	h.kept("errors 0% (0 of 50 answers), p99 1.04ms (of 50 exchanges), too few to judge, requests 50")
}

func TestTooFewRequestsAtTheEndRevertTheChange(t *testing.T) {
	h := newHouse(t)
	h.guarded("requests>=50,1m")
	h.answer("a", 49, 0, time.Millisecond)
	h.look()
	h.stays("before the end")
	h.pass(time.Minute)
	h.look()
	h.went("requests 49 is not requests>=50")
}

func TestGuardSurvivesARestart(t *testing.T) {
	h := newHouse(t)
	h.answer("a", 1000, 0, time.Millisecond)
	h.guarded("errors<5%,10m")
	h.answer("a", 10, 9, time.Millisecond) // too few
	h.open()
	h.look()
	h.stays("after a restart")
	h.answer("a", 0, 1, time.Millisecond)
	h.look()
	h.went("errors 50% (10 of 20 answers) is not errors<5%")
}

func TestGuardAbsentAtTheEndExtendsItsWindow(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<5%,10m")
	h.pass(time.Hour)
	h.farms = map[uint32]stats.Farm{} // the machine was restarted
	h.open()
	if next := h.look(); next != 2*time.Second {
		t.Errorf("it looks after %v", next)
	}
	h.stays("at the start")
	if p := h.watcher.Progress(); !p.Until.Equal(h.now().Add(time.Minute)) {
		t.Errorf("until %v", p.Until)
	}
	h.pass(time.Minute)
	h.look()
	h.kept("nothing was answered, too few to judge")
}

func TestRestartedCountersAreCountedFromZero(t *testing.T) {
	h := newHouse(t)
	h.answer("a", 1000, 0, time.Millisecond)
	h.guarded("errors<5%,10m")
	h.farms = map[uint32]stats.Farm{}
	h.answer("a", 10, 10, time.Millisecond)
	h.look()
	h.went("errors 50% (10 of 20 answers) is not errors<5%")
}

func TestWithoutAGuardTheTimeDecides(t *testing.T) {
	h := newHouse(t)
	h.change(apply.OnTrial(context.Background(), apply.Trial{Wait: 5 * time.Minute}), func(c *farm.Config) error { c.Farm("a").VPort = 8081; return nil })
	if next := h.look(); next != time.Minute {
		t.Errorf("it looks after %v, want %v", next, time.Minute)
	}
	h.pass(5*time.Minute - 1)
	if next := h.look(); next != 1 {
		t.Errorf("it looks after %v, want 1", next)
	}
	h.stays("before the end")
	h.pass(1)
	h.look()
	if cfg, rev := h.applier.Current(); cfg.Farm("a").VPort != 8080 || rev.Comment != "not confirmed: back to revision 1" || rev.Source != "confirm" {
		t.Errorf("%+v", rev)
	}
}

func TestFailedRevertIsRetriedAndLoggedOnce(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<5%,10m")
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, errors.New("no engine") })
	h.answer("a", 0, 50, time.Millisecond)
	for range 3 {
		if next := h.look(); next != 2*time.Second {
			t.Errorf("it looks after %v", next)
		}
	}
	h.stays("without an engine")
	if p := h.watcher.Progress(); !strings.Contains(p.Problem, "no engine") || len(h.log.Lines("cannot go back yet")) != 1 {
		t.Errorf("progress %+v\n%s", p, h.log.String())
	}
	h.pub.Answer(nil)
	h.look()
	h.went("errors 100% (50 of 50 answers) is not errors<5%")
}

func TestUnmeasuredConditionsAreRefused(t *testing.T) {
	h := newHouse(t)
	l4 := func(name string, nat farm.NATType) farm.Farm {
		return farm.Farm{Name: name, Profile: farm.ProfileL4, VIP: netip.MustParseAddr("127.0.0.1"), L4: &farm.L4{Protocol: farm.L4TCP, NAT: nat, Ports: []farm.PortRange{{First: 53, Last: 53}}}}
	}
	names := farm.Farm{Name: "n", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 53, Global: farm.DefaultGSLB()}
	stopped := shop("s", 1)
	stopped.Stopped = true
	for _, c := range []struct {
		text    string
		farms   []farm.Farm
		touched string
		want    string
	}{
		{"errors<1%", []farm.Farm{stopped}, "s", "no farm runs"},
		{"errors<1%", nil, "", "no farm runs"},
		{"p99<1s", []farm.Farm{l4("l", "nat")}, "l", "p99 is not measured of farm l"},
		{"p99<1s", []farm.Farm{l4("l", "nat"), shop("a", 1)}, "l", "p99 is not measured of farm l"},
		{"p99<1s,all", []farm.Farm{l4("l", "nat"), shop("a", 1)}, "l", ""},
		{"errors<1%", []farm.Farm{l4("l", "nat")}, "l", ""},
		{"p99<1s", []farm.Farm{names}, "n", "p99 is not measured of farm n"},
		{"errors<1%", []farm.Farm{names}, "n", ""},
		{"errors<1%", []farm.Farm{l4("k", "dsr")}, "k", "errors is not measured of farm k"},
		{"backends_up>=1", []farm.Farm{l4("k", "dsr")}, "k", ""},
		{"p99<1s", []farm.Farm{stopped, shop("a", 1)}, "s", ""}, // no affected farm runs: all are watched
	} {
		spec, err := trial.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.watcher.Guard(spec).Guard(&farm.Config{Farms: c.farms}, []string{c.touched})
		var no *trial.Unmeasurable
		if (c.want == "") != (err == nil) || err != nil && (!errors.As(err, &no) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s: %v, want %q", c.text, c.touched, err, c.want)
		}
	}
}

func TestUnreadableGuardReverts(t *testing.T) {
	h := newHouse(t)
	h.guarded("errors<5%,10m")
	p := *h.applier.Pending()
	p.Guard = []byte(`{"conditions":"sunshine>9"}`)
	if err := h.store.WriteDocument("history-pending", p); err != nil {
		t.Fatal(err)
	}
	if trial.Conditions(&p) != "sunshine>9" || trial.Conditions(&apply.Pending{}) != "" {
		t.Error("conditions of a pending change")
	}
	h.open()
	h.look()
	h.went(`its guard cannot be read: guard: "sunshine" is not known, allowed are errors, p50, p90, p99, backends_up, requests`)
}

func TestTheWatcherSleepsUntilSomethingIsPending(t *testing.T) {
	h := newHouse(t)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { h.watcher.Run(ctx); close(done) }()
	h.change(apply.OnTrial(ctx, apply.Trial{Wait: time.Second}), func(c *farm.Config) error { c.Farm("a").VPort = 8081; return nil })
	h.pass(time.Second) // its timer runs by the real clock
	for end := time.Now().Add(10 * time.Second); h.applier.Pending() != nil && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	if h.applier.Pending() != nil {
		t.Error("it is pending still")
	}
	end()
	<-done
}
