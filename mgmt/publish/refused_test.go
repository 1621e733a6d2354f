package publish_test

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// manyMarks returns a configuration that needs count sockets with different marks.
func manyMarks(count int) *farm.Config {
	cfg := markedConfig(1)
	list := make([]farm.Backend, count)
	for i := range list {
		list[i] = farm.Backend{ID: uint32(i + 1), Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Mark: uint32(i + 1)}
	}
	cfg.Farms[0].HTTP.Services[0].Backends = list
	return cfg
}

// A refused configuration reaches neither engine nor netd, and the marks in force stay.
func TestUnencodableConfigurationIsRefused(t *testing.T) {
	twice := config(b2, c3)
	twice.Farms[1].ID = twice.Farms[0].ID
	for name, c := range map[string]struct {
		cfg  *farm.Config
		says string
	}{
		"too many marks":          {manyMarks(1<<17 + 1), "131073 kinds of sockets with a mark are needed, at most 131072 are possible"},
		"two farms of one number": {twice, "the configuration cannot be written down: "},
	} {
		p := kindsMemory(t)
		b := newBench(t, markedConfig(7), func(o *publish.Options) { o.Kinds = p })
		e := b.start(t, newEngine())
		eventually(t, func() bool { return b.page.Published() == 1 && b.State().Connected })
		_, err := b.Publish(t.Context(), c.cfg)
		var refused *apply.Refused
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, c.says) {
			t.Errorf("%s: got %v, want a rejection with %q", name, err, c.says)
		}
		if n := len(e.lives()); n != 1 || b.page.Published() != 1 {
			t.Errorf("%s: the engine got %d configurations, the page has %d", name, n, b.page.Published())
		}
		if _, err := b.Publish(t.Context(), markedConfig(8)); err != nil {
			t.Errorf("%s: the next publication: %v", name, err)
		}
		lists(t, name, p, 8)
	}
}

// A publication waits for the one in progress unless its context has ended.
func TestPublicationsWaitForEachOther(t *testing.T) {
	b, k, e := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 && len(e.lives()) == 1 })
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error)
	e.mu.Lock()
	e.during = func() { close(entered); <-leave }
	e.mu.Unlock()
	go func() {
		_, err := b.Publish(t.Context(), mixed("web"))
		done <- err
	}()
	<-entered
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Publish(gone, mixed("other")); !errors.Is(err, context.Canceled) {
		t.Errorf("a publication: got %v", err)
	}
	if err := b.Check(gone, mixed("other"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a check: got %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnEngineThatAnswersForAnotherGenerationIsLeft(t *testing.T) {
	b := newBench(t, config(a))
	e := b.start(t, newEngine())
	eventually(t, func() bool { return b.page.Published() == 1 })
	e.mu.Lock()
	e.behind = 1
	e.mu.Unlock()
	_, err := b.Publish(t.Context(), config(b2))
	if err == nil || !strings.Contains(err.Error(), "the engine did not acknowledge: it answered for generation 1 instead of 2") {
		t.Errorf("got %v", err)
	}
	<-e.Done()
}

// A problem reported by the engine is used if no other cause is known.
func TestEngineProblemsAreReported(t *testing.T) {
	b := newBench(t, config(a))
	e := b.start(t, newEngine())
	b.netd.mu.Lock()
	b.netd.broken[b2] = &ctl.Error{Code: ctl.CodeNotLocal, Text: "no such address"}
	b.netd.mu.Unlock()
	e.mu.Lock()
	e.problems = map[uint32]string{1: "its rules cannot be compiled", 2: "sockets are missing"}
	e.mu.Unlock()
	for range 2 {
		out, err := b.Publish(t.Context(), config(a, b2))
		if err != nil || len(out.FarmErrors) != 2 || out.FarmErrors[1] != "its rules cannot be compiled" || out.FarmErrors[2] != "no such address" {
			t.Errorf("got %v, %v", out.FarmErrors, err)
		}
	}
	for _, line := range []string{"farm=fa reason=\"its rules cannot be compiled\"", "farm=fb reason=\"no such address\""} {
		if n := strings.Count(b.log.String(), line); n != 1 {
			t.Errorf("%s: logged %d times, want once:\n%s", line, n, b.log.String())
		}
	}
}

func TestListenersThatStayOpenAreLogged(t *testing.T) {
	b := newBench(t, config(a, b2))
	b.start(t, newEngine())
	b.netd.mu.Lock()
	b.netd.stuck = errors.New("netd is busy")
	b.netd.mu.Unlock()
	if _, err := b.Publish(t.Context(), config(b2)); err != nil {
		t.Fatal(err)
	}
	if log := b.log.String(); strings.Count(log, "listeners that no farm uses were not closed; the next change tries again") != 1 || !strings.Contains(log, "netd is busy") {
		t.Errorf("log:\n%s", log)
	}
}

// Without netd only started kernel farms have a problem; engine farms run.
func TestWithoutNetdOnlyFarmsOfTheKernelHaveAProblem(t *testing.T) {
	b := newBench(t, config(a), func(o *publish.Options) { o.Complete = nil })
	b.start(t, newEngine())
	cfg := mixed("web")
	out, err := b.Publish(t.Context(), cfg)
	if err != nil || len(out.FarmErrors) != 1 || out.FarmErrors[99] != "the kernel cannot carry it: there is no netd to ask" {
		t.Errorf("got %v, %v", out.FarmErrors, err)
	}
	if err := b.Check(t.Context(), mixed("other"), nil); err != nil {
		t.Errorf("checked: %v", err)
	}
	cfg.Farms[1].Stopped = true
	if out, err := b.Publish(t.Context(), cfg); err != nil || len(out.FarmErrors) != 0 {
		t.Errorf("stopped: %v, %v", out.FarmErrors, err)
	}
}

func TestKernelRefusalsAreReported(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	k.set(func() { k.away = &ctl.Error{Code: ctl.CodeNotLocal, Text: "nft is not installed"} })
	if out, err := b.Publish(t.Context(), mixed("a")); err != nil || out.FarmErrors[99] != "the kernel cannot carry it: nft is not installed" {
		t.Errorf("netd refused: %v, %v", out.FarmErrors, err)
	}
	k.set(func() { k.away, k.behind = nil, 1 })
	out, err := b.Publish(t.Context(), mixed("b"))
	if err != nil || !strings.Contains(out.FarmErrors[99], "netd answered for generation 2 instead of 3") {
		t.Errorf("netd answered for another: %v, %v", out.FarmErrors, err)
	}
}

func TestApprovedKernelChangePasses(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 && b.page.Published() == 1 })
	asked := 0
	if err := b.Check(t.Context(), mixed("changed"), func(apply.Outcome) error { asked++; return nil }); err != nil || asked != 1 {
		t.Errorf("%v, %d calls", err, asked)
	}
}

// A check reports the known problems of each farm from all sources, and leaves no new socket
// open.
func TestCheckReportsAllProblemsAndLeaksNothing(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 && len(b.netd.keys()) == 1 })
	changed := mixed("changed")
	changed.Farms = append(changed.Farms, config(a, b2, c3).Farms...)
	for i := range changed.Farms {
		changed.Farms[i].ID = uint32(i + 1)
	}
	k.set(func() { k.problems = map[uint32]string{2: "its address is taken"} })
	b.netd.mu.Lock()
	b.netd.broken[b2] = &ctl.Error{Code: ctl.CodeNotLocal, Text: "no such address"}
	b.netd.mu.Unlock()
	b.mu.Lock()
	b.complete = func(cfg *farm.Config) (*farm.Config, map[uint32]string) {
		return cfg, map[uint32]string{5: "no certificate"}
	}
	b.mu.Unlock()
	held, no := b.netd.keys(), errors.New("not so")
	err := b.Check(t.Context(), changed, func(out apply.Outcome) error {
		if want := map[uint32]string{2: "its address is taken", 4: "no such address", 5: "no certificate"}; !maps.Equal(out.FarmErrors, want) || !out.Absent[4] || out.Absent[2] || out.Absent[5] {
			t.Errorf("problems beforehand: %+v, want %v", out, want)
		}
		return no
	})
	if !errors.Is(err, no) || !slices.Equal(b.netd.keys(), held) {
		t.Errorf("%v; netd holds %v, want %v", err, b.netd.keys(), held)
	}
}

// Check does not judge while the configuration in force is unknown.
func TestCheckNeedsAnEngineInAKnownState(t *testing.T) {
	b, k, e := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 && b.page.Published() == 1 })
	judge := func(apply.Outcome) error { t.Error("judged"); return nil }
	k.set(func() { k.away = errors.New("no such process") })
	if _, err := b.Publish(t.Context(), mixed("a")); err != nil {
		t.Fatal(err)
	}
	k.set(func() { k.away = nil })
	if err := b.Check(t.Context(), mixed("b"), judge); err != nil {
		t.Errorf("after an error: %v", err)
	}
	if _, err := b.Publish(t.Context(), mixed("a")); err != nil {
		t.Fatal(err)
	}
	_ = e.Close()
	eventually(t, func() bool { return !b.State().Connected })
	if err := b.Check(t.Context(), mixed("b"), judge); err != nil {
		t.Errorf("without an engine: %v", err)
	}
}

func TestPublicationWaitsForAStartingEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, config(a))
		done := make(chan error)
		go func() {
			_, err := b.Publish(t.Context(), config(b2))
			done <- err
		}()
		synctest.Wait()
		time.Sleep(4 * time.Second)
		b.engines <- newEngine()
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// If no kernel farm is in force, netd gets the empty list once and is not queried again.
func TestNetdIsNotQueriedWithoutKernelFarms(t *testing.T) {
	b, k, _ := withKernel(t, config(a))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	if _, err := b.Publish(t.Context(), config(b2)); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.given) != 1 || k.asked != 0 {
		t.Errorf("netd: %d publications, %d requests", len(k.given), k.asked)
	}
}
