package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func named(host string) farm.Farm {
	f := shop("a", 8080)
	f.HTTP.Services[0].Backends[0].Host = host
	return f
}

func addr(c *farm.Config) string { return c.Farms[0].HTTP.Services[0].Backends[0].Addr.String() }

// taken answers that a farm's port is in use.
func taken(name string) func(*farm.Config) (apply.Outcome, error) {
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
	h.pub.Answer(taken("a"))
	out, err := h.Republish(context.Background())
	if err != nil || len(out.FarmErrors) != 1 || len(h.Problems()) != 1 {
		t.Fatalf("%v %+v %v", err, out, h.Problems())
	}
	h.must(add(shop("b", 8082)))
	r := h.must(func(c *farm.Config) error { c.Farm("a").HTTP.ConnectTimeout = 3; return nil })
	if len(r.FarmErrors) != 1 {
		t.Errorf("the problem is not told: %+v", r)
	}
	var refused *apply.Refused
	_, err = h.Change(context.Background(), root, "", 0, func(c *farm.Config) error { c.Farm("a").VPort = 8085; return nil })
	if !errors.As(err, &refused) {
		t.Errorf("moving it to a taken port: %v", err)
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
	if err != nil || r.Revision.Number != 1 || len(seen) != 2 || !seen[0] || seen[1] {
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
}

// With a grace connections would go on: the farm runs again before it is over.
func TestRestartGivesConnectionsOfLayer4NoGrace(t *testing.T) {
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

func TestBackendNamesAreResolved(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	var broken *validate.Error
	_, err := h.Change(ctx, root, "", 0, add(named("db.example")))
	if !errors.As(err, &broken) || broken.Field != "ip" || !strings.Contains(err.Error(), `farm "a" service "web" backend 0: ip must be an address or a resolvable host name, got "db.example": no such name`) {
		t.Fatalf("an unknown name: %v", err)
	}
	h.name("db.example", "10.0.0.1")
	r := h.must(add(named("db.example")))
	if addr(r.Config) != "10.0.0.1" {
		t.Fatalf("address %s", addr(r.Config))
	}
	h.name("db.example", "")
	r = h.must(func(c *farm.Config) error { c.Farms[0].HTTP.ConnectTimeout = 4; return nil })
	if addr(r.Config) != "10.0.0.1" {
		t.Errorf("the name server is away, the address became %s", addr(r.Config))
	}
	_, err = h.Change(ctx, root, "", 0, func(c *farm.Config) error {
		c.Farms[0].HTTP.Services[0].Backends[0].Host = "other.example"
		return nil
	})
	if !errors.As(err, &broken) {
		t.Errorf("another name kept the address: %v", err)
	}
}

func TestNamesOfTheOtherIPVersionAreTakenWhereItIs(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "2001:db8::1")
	if r := h.must(add(named("db.example"))); addr(r.Config) != "2001:db8::1" {
		t.Errorf("address %s", addr(r.Config))
	}
	var broken *validate.Error
	f := relay("b", 5000)
	f.L4.DataPath, f.L4.Backends = farm.DataPathKernel, []farm.Backend{{Host: "db.example"}}
	if _, err := h.Change(context.Background(), root, "", 0, add(f)); !errors.As(err, &broken) || !strings.Contains(err.Error(), "IP version") {
		t.Errorf("in the kernel: %v", err)
	}
}

func TestNamesAreRefreshedWithoutARevision(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	h.name("db.example", "10.0.0.1")
	h.must(add(named("db.example")))
	if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
		t.Errorf("nothing changed, yet %d %v", n, err)
	}
	h.name("db.example", "10.0.0.2")
	if n, err := h.RefreshNames(ctx); n != 1 || err != nil {
		t.Errorf("%d addresses changed, %v", n, err)
	}
	cfg, rev := h.Current()
	if addr(cfg) != "10.0.0.2" || addr(h.pub.InForce()) != "10.0.0.2" || rev.Number != 1 {
		t.Errorf("address %s, in force %s, revision %d", addr(cfg), addr(h.pub.InForce()), rev.Number)
	}
	h.name("db.example", "")
	if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
		t.Errorf("the name is gone: %d %v", n, err)
	}
	h.name("db.example", "224.0.0.1")
	if n, err := h.RefreshNames(ctx); n != 0 || err != nil {
		t.Errorf("the name became a multicast address: %d %v", n, err)
	}
	if cfg, _ := h.Current(); addr(cfg) != "10.0.0.2" {
		t.Errorf("address %s", addr(cfg))
	}
}

func TestWaitingForAnotherChangeEndsWithTheCaller(t *testing.T) {
	h := newHouse(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error {
			close(entered)
			<-leave
			return add(shop("a", 8080))(c)
		})
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Change(ctx, root, "", 0, add(shop("b", 8082))); !errors.Is(err, apply.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestACallerWhoLeavesDoesNotCancelThePublication(t *testing.T) {
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
	var broken *validate.Error
	_, err := h.Change(context.Background(), root, strings.Repeat("x", apply.MaxComment+1), 0, add(shop("a", 8080)))
	if !errors.As(err, &broken) || broken.Field != "comment" {
		t.Errorf("error is %v", err)
	}
}

func TestAnAddressAmongSeveralStays(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "::ffff:10.0.0.9,2001:db8::1,10.0.0.3,10.0.0.5")
	r := h.must(add(named("db.example")))
	if addr(r.Config) != "10.0.0.3" {
		t.Fatalf("address %s", addr(r.Config))
	}
	h.name("db.example", "10.0.0.1,::ffff:10.0.0.9,2001:db8::1,10.0.0.3,10.0.0.5")
	if n, err := h.RefreshNames(context.Background()); n != 0 || err != nil {
		t.Errorf("%d addresses changed (%v), though the known one is still there", n, err)
	}
}
