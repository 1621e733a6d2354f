package apply_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func namedFarm(host string) farm.Farm {
	f := shop("a", 8080)
	f.HTTP.Services[0].Backends[0].Host = host
	return f
}

func addr(c *farm.Config) string { return c.Farms[0].HTTP.Services[0].Backends[0].Addr.String() }

// portInUse returns an outcome in which the farm's port is in use.
func portInUse(name string) func(*farm.Config) (apply.Outcome, error) {
	return func(c *farm.Config) (apply.Outcome, error) {
		if f := c.Farm(name); f != nil && !f.Stopped {
			return apply.Outcome{FarmErrors: map[uint32]string{f.ID: "address in use"}}, nil
		}
		return apply.Outcome{}, nil
	}
}

func TestAFarmWithAnOlderProblemDoesNotStopOthers(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	h.pub.Answer(portInUse("a"))
	out, err := h.Republish(context.Background())
	if err != nil || len(out.FarmErrors) != 1 || len(h.Problems()) != 1 {
		t.Fatalf("%v %+v %v", err, out, h.Problems())
	}
	h.must(add(shop("b", 8082)))
	r := h.must(func(c *farm.Config) error { c.Farm("a").HTTP.ConnectTimeout = 3; return nil })
	if len(r.FarmErrors) != 1 {
		t.Errorf("the problem is not reported: %+v", r)
	}
	var refused *apply.Refused
	_, err = h.Change(context.Background(), root, "", 0, func(c *farm.Config) error { c.Farm("a").VPort = 8085; return nil })
	if !errors.As(err, &refused) {
		t.Errorf("a move to a port in use: %v", err)
	}
	h.must(func(c *farm.Config) error { c.Farm("a").Stopped = true; return nil })
	if len(h.Problems()) != 0 {
		t.Errorf("a stopped farm has problems: %v", h.Problems())
	}
	if _, err = h.Restart(context.Background(), root, "a"); !errors.As(err, &refused) {
		t.Errorf("starting it: %v", err)
	}
}

func TestRestartClosesTheListenerAndOpensItAgain(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	var seen []bool
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		seen = append(seen, c.Farm("a").Stopped)
		return apply.Outcome{}, nil
	})
	r, err := h.Restart(context.Background(), root, "a")
	if err != nil || r.Revision.Number != 1 || !r.Unchanged || len(seen) != 2 || !seen[0] || seen[1] {
		t.Errorf("%v %+v %v", err, r.Revision, seen)
	}
	h.pub.Answer(nil)
	h.must(func(c *farm.Config) error { c.Farm("a").Stopped = true; return nil })
	if r, err = h.Restart(context.Background(), root, "a"); err != nil || r.Config.Farm("a").Stopped || r.Revision.Number != 3 {
		t.Errorf("a stopped farm: %v %+v", err, r.Revision)
	}
	if _, err = h.Restart(context.Background(), root, "none"); !errors.Is(err, apply.ErrNotFound) {
		t.Errorf("an unknown farm: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 4 { // the turn may be taken by chance
		if _, err = h.Restart(gone, root, "a"); err != nil && !errors.Is(err, apply.ErrUnavailable) {
			t.Errorf("without a caller: %v", err)
		}
	}
	h.pub.Answer(portInUse("a"))
	if _, err = h.Restart(context.Background(), root, "a"); !isRefused(err, `farm "a": address in use`) {
		t.Errorf("a port taken in the meantime: %v", err)
	}
	closes := 0
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		if closes++; c.Farm("a").Stopped {
			return apply.Outcome{}, &apply.Refused{Reason: "busy"}
		}
		return apply.Outcome{}, nil
	})
	if _, err = h.Restart(context.Background(), root, "a"); !isRefused(err, "busy") || closes != 2 || h.pub.InForce().Farm("a").Stopped || !h.InSync() {
		t.Errorf("a farm that cannot be closed: %v, published %d times", err, closes)
	}
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		if !c.Farm("a").Stopped {
			return apply.Outcome{}, apply.ErrUnavailable
		}
		return apply.Outcome{}, nil
	})
	if _, err = h.Restart(context.Background(), root, "a"); !errors.Is(err, apply.ErrUnavailable) || h.InSync() {
		t.Errorf("a farm that cannot be opened: %v, in sync %v", err, h.InSync())
	}
}

// checker is a Checker with fixed problems.
type checker struct {
	*applytest.Publisher
	problems map[uint32]string
	absent   map[uint32]bool
	hangs    bool
}

func (c *checker) Check(ctx context.Context, _ *farm.Config, judge func(apply.Outcome) error) error {
	if c.hangs {
		<-ctx.Done()
	}
	return judge(apply.Outcome{FarmErrors: c.problems, Absent: c.absent})
}

func TestKnownProblemsAreRefusedBeforePublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := &checker{Publisher: h.pub}
		h.Applier = apply.New(h.store, c, apply.WithRules(validate.Rules{}), apply.WithNames(&h.names))
		h.must(add(shop("a", 8080)))
		c.problems = map[uint32]string{2: "the kernel has no room"}
		published := h.pub.Published()
		if _, err := h.Change(t.Context(), root, "", 0, add(shop("b", 8082))); !isRefused(err, "the kernel has no room") || h.pub.Published() != published {
			t.Errorf("%v, published %d times, %d before", err, h.pub.Published(), published)
		}
		c.hangs = true // then the publication reports it
		began := time.Now()
		if h.must(add(shop("c", 8083))); time.Since(began) > 25*time.Second {
			t.Errorf("a hanging check takes %v", time.Since(began))
		}
		// By default a publication takes at most 20 s, and so does restoring the previous
		// configuration.
		c.hangs = false
		stop := make(chan struct{})
		h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { <-stop; return apply.Outcome{}, nil })
		began = time.Now()
		if _, err := h.Change(t.Context(), root, "", 0, add(shop("d", 8084))); !errors.Is(err, apply.ErrUnavailable) || time.Since(began) > 45*time.Second {
			t.Errorf("an engine that hangs: after %v %v", time.Since(began), err)
		}
		close(stop)
	})
}

func TestARejectionNamesItsFarms(t *testing.T) {
	for want, r := range map[string]*apply.Refused{
		"no": {Reason: "no", Farms: map[uint32]string{1: "x"}}, "refused: farm 1: a; farm 2: b": {Farms: map[uint32]string{2: "b", 1: "a"}},
	} {
		if got := r.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A grace would keep the connections, as the farm runs again before it ends.
func TestRestartGivesL4ConnectionsNoGrace(t *testing.T) {
	h := newHouse(t)
	h.must(add(relay("a", 8080)))
	h.must(func(c *farm.Config) error { c.Farm("a").L4.StopGrace = 60; return nil })
	var graces []farm.Seconds
	h.pub.Answer(func(c *farm.Config) (apply.Outcome, error) {
		graces = append(graces, c.Farm("a").L4.StopGrace)
		return apply.Outcome{}, nil
	})
	if r, err := h.Restart(context.Background(), root, "a"); err != nil || r.Config.Farm("a").L4.StopGrace != 60 {
		t.Errorf("%v %+v", err, r.Config.Farm("a").L4)
	}
	if !slices.Equal(graces, []farm.Seconds{0, 60}) {
		t.Errorf("graces while it was restarted: %v", graces)
	}
}

// In a document, a name that does not exist only disables its backend.
func TestDocumentWithAnUnknownNameIsApplied(t *testing.T) {
	h := newHouse(t)
	cfg := &farm.Config{}
	if err := add(namedFarm("gone.example"))(cfg); err != nil {
		t.Fatal(err)
	}
	planned, err := h.Plan(context.Background(), cfg)
	if err != nil || len(planned.Warnings) != 1 {
		t.Errorf("planned: %v, %v", planned.Warnings, err)
	}
	r, err := h.Replace(context.Background(), root, "", 0, cfg)
	if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "gone.example has no address yet: no such name; the backend is not used until it has one") {
		t.Errorf("applied: %v, %v", r.Warnings, err)
	}
}

func TestBackendNamesAreResolved(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	var broken *field.Error
	_, err := h.Change(ctx, root, "", 0, add(namedFarm("db.example")))
	if !errors.As(err, &broken) || broken.Field != "ip" || !strings.Contains(err.Error(), `farm "a" service "web" backend 0: ip must be an address or a resolvable host name, got "db.example": no such name`) {
		t.Fatalf("an unknown name: %v", err)
	}
	h.name("db.example", "10.0.0.1")
	r := h.must(add(namedFarm("db.example")))
	if addr(r.Config) != "10.0.0.1" {
		t.Fatalf("address %s", addr(r.Config))
	}
	h.name("db.example", "")
	r = h.must(func(c *farm.Config) error { c.Farms[0].HTTP.ConnectTimeout = 4; return nil })
	if addr(r.Config) != "10.0.0.1" {
		t.Errorf("without a name server the address became %s", addr(r.Config))
	}
	_, err = h.Change(ctx, root, "", 0, func(c *farm.Config) error {
		c.Farms[0].HTTP.Services[0].Backends[0].Host = "other.example"
		return nil
	})
	if !errors.As(err, &broken) {
		t.Errorf("another name kept the address: %v", err)
	}
}

func TestNamesResolveToTheOtherFamilyWhereSupported(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "2001:db8::1")
	if r := h.must(add(namedFarm("db.example"))); addr(r.Config) != "2001:db8::1" {
		t.Errorf("address %s", addr(r.Config))
	}
	var broken *field.Error
	f := relay("b", 5000)
	f.L4.DataPath, f.L4.Backends = farm.DataPathKernel, []farm.Backend{{Host: "db.example"}}
	if _, err := h.Change(context.Background(), root, "", 0, add(f)); !errors.As(err, &broken) || !strings.Contains(err.Error(), "IP version") {
		t.Errorf("in the kernel: %v", err)
	}
}

func TestNamesAreRefreshedWithoutARevision(t *testing.T) {
	log := &logtest.Log{}
	h := newHouse(t, apply.WithLog(slog.New(slog.NewTextHandler(log, nil))))
	ctx := context.Background()
	h.name("db.example", "10.0.0.1")
	h.must(add(namedFarm("db.example")))
	if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
		t.Errorf("no address changed: got %d %v, want 0", n, err)
	}
	h.name("db.example", "10.0.0.2")
	if n, err := h.RefreshNames(ctx); n != 1 || err != nil {
		t.Errorf("got %d addresses changed, %v, want 1", n, err)
	}
	cfg, rev := h.Current()
	if addr(cfg) != "10.0.0.2" || addr(h.pub.InForce()) != "10.0.0.2" || rev.Number != 1 {
		t.Errorf("address %s, in force %s, revision %d", addr(cfg), addr(h.pub.InForce()), rev.Number)
	}
	h.name("db.example", "")
	if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
		t.Errorf("the name is gone: got %d %v, want 0", n, err)
	}
	for round := range 2 {
		h.name("db.example", "224.0.0.1")
		for range 2 {
			if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
				t.Errorf("the name became a multicast address: got %d %v, want 0", n, err)
			}
		}
		if cfg, _ := h.Current(); addr(cfg) != "10.0.0.2" {
			t.Errorf("address %s", addr(cfg))
		}
		if n := strings.Count(log.String(), "addresses of a name are not used"); n != round+1 {
			t.Errorf("logged %d times, want %d:\n%s", n, round+1, log)
		}
		h.name("db.example", "10.0.0.2")
		if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
			t.Errorf("it has its address again: got %d %v, want 0", n, err)
		}
	}
	h.name("db.example", "::ffff:10.0.0.3")
	if n, err := h.RefreshNames(ctx); n != 1 || err != nil || addr(h.pub.InForce()) != "10.0.0.3" {
		t.Errorf("an IPv4 address written as IPv6: %d %v, %s", n, err, addr(h.pub.InForce()))
	}
	h.must(func(c *farm.Config) error { c.Farms = nil; return nil })
	published := h.pub.Published()
	if n, err := h.RefreshNames(ctx); n != 0 || err != nil || h.pub.Published() != published {
		t.Errorf("without names: %d %v", n, err)
	}
}

// A name that breaks a rule does not keep others from their addresses. A store that fails does
// not keep them from the engine.
func TestNamesAreRefreshedIndependently(t *testing.T) {
	log := &logtest.Log{}
	h := newHouse(t, apply.WithLog(slog.New(slog.NewTextHandler(log, nil))))
	h.name("good.example", "10.0.0.1")
	h.name("bad.example", "10.0.0.2")
	f := namedFarm("good.example")
	f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{Host: "bad.example", Port: 8082})
	h.must(add(f))
	h.name("good.example", "10.0.0.9")
	h.name("bad.example", "224.0.0.1")
	cfg := h.refreshed(1)
	if list := cfg.Farms[0].HTTP.Services[0].Backends; list[0].Addr.String() != "10.0.0.9" || list[1].Addr.String() != "10.0.0.2" {
		t.Errorf("addresses %s and %s", list[0].Addr, list[1].Addr)
	}
	if !strings.Contains(log.String(), "name=bad.example") || strings.Contains(log.String(), "name=good.example") {
		t.Errorf("log:\n%s", log)
	}
	h.store.Close()
	h.name("good.example", "10.0.0.10")
	if cfg := h.refreshed(1); addr(cfg) != "10.0.0.10" || addr(h.pub.InForce()) != "10.0.0.10" || !strings.Contains(log.String(), "not kept for the next start") {
		t.Errorf("address %s, in force %s, log:\n%s", addr(cfg), addr(h.pub.InForce()), log)
	}
}

func TestMoreFarmsThanNumbersAreRefused(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080))) // its number stays reserved until it is deleted
	_, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error {
		c.Farms = nil
		for i := range farm.MaxFarmID {
			f := shop(fmt.Sprintf("f-%d", i), uint16(10000+i))
			f.HTTP.Services = nil
			c.Farms = append(c.Farms, f)
		}
		return nil
	})
	if !isRefused(err, "no number is left for another farm: at most 4095 can exist") || h.pub.Published() != 1 {
		t.Errorf("%v, published %d times", err, h.pub.Published())
	}
}

// More names than resolveAtOnce are resolved.
func TestManyNamesAreResolved(t *testing.T) {
	h := newHouse(t)
	f := shop("a", 8080)
	f.HTTP.Services[0].Backends = nil
	for i := range 50 {
		host := fmt.Sprintf("n%d.example", i)
		h.name(host, fmt.Sprintf("10.0.0.%d", i+1))
		f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{Host: host, Port: 80})
	}
	for i, b := range h.must(add(f)).Config.Farms[0].HTTP.Services[0].Backends {
		if want := fmt.Sprintf("10.0.0.%d", i+1); b.Addr.String() != want {
			t.Errorf("%s has %s, want %s", b.Host, b.Addr, want)
		}
	}
}

func TestWaitingForAnotherChangeEndsWithTheCaller(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "10.0.0.1")
	h.must(add(namedFarm("db.example")))
	entered, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error {
			close(entered)
			<-leave
			return add(shop("other", 8085))(c)
		})
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, change := h.Change(ctx, root, "", 0, add(shop("b", 8082)))
	_, republished := h.Republish(ctx)
	_, refreshed := h.RefreshNames(ctx)
	_, restarted := h.Restart(ctx, root, "a")
	renewed := h.Renew(ctx, func(*farm.Config) (apply.Renewal, error) { panic("prepared") })
	for what, err := range map[string]error{"a change": change, "a publication": republished, "names": refreshed, "a restart": restarted, "a renewal": renewed} {
		if !errors.Is(err, apply.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDepartedCallerDoesNotCancelThePublication(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(context.Background())
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { cancel(); return apply.Outcome{}, nil })
	if _, err := h.Change(ctx, root, "", 0, add(shop("a", 8080))); err != nil {
		t.Error(err)
	}
	if cfg, _ := h.Current(); len(cfg.Farms) != 1 {
		t.Error("the farm is missing")
	}
}

func TestCommentsAreBounded(t *testing.T) {
	h := newHouse(t)
	var broken *field.Error
	_, err := h.Change(context.Background(), root, strings.Repeat("x", apply.MaxComment+1), 0, add(shop("a", 8080)))
	if !errors.As(err, &broken) || broken.Field != "comment" {
		t.Errorf("error is %v", err)
	}
}

func TestAnAddressAmongSeveralStays(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "::ffff:10.0.0.9,2001:db8::1,10.0.0.3,10.0.0.5")
	r := h.must(add(namedFarm("db.example")))
	if addr(r.Config) != "10.0.0.3" {
		t.Fatalf("address %s", addr(r.Config))
	}
	h.name("db.example", "10.0.0.1,::ffff:10.0.0.9,2001:db8::1,10.0.0.3,10.0.0.5")
	if n, err := h.RefreshNames(context.Background()); n != 0 || err != nil {
		t.Errorf("%d addresses changed (%v), though the known one is still valid", n, err)
	}
	h.name("local.example", "fe80::1%eth0,2001:db8::7") // a link-local address of an interface is not usable
	six := namedFarm("local.example")
	six.Name, six.VIP = "six", netip.MustParseAddr("::1")
	if r := h.must(add(six)); r.Config.Farm("six").HTTP.Services[0].Backends[0].Addr != netip.MustParseAddr("2001:db8::7") {
		t.Errorf("%+v", r.Config.Farm("six").HTTP.Services[0].Backends)
	}
}
