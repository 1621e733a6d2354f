package apply_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// relay returns an l4xnat farm with one backend.
func relay(name string, ports ...uint16) farm.Farm {
	l := farm.DefaultL4()
	for _, p := range ports {
		l.Ports = append(l.Ports, farm.PortRange{First: p, Last: p})
	}
	l.Backends = []farm.Backend{{Host: "127.0.0.1", Port: 8081}}
	return farm.Farm{Name: name, Profile: farm.ProfileL4, VIP: netip.MustParseAddr("127.0.0.1"), L4: l}
}

func TestL4FarmKeepsItsIDs(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	h.must(add(relay("b", 5000)))
	cfg, _ := h.Current()
	a, b := cfg.Farm("a"), cfg.Farm("b")
	if b.ID == 0 || b.L4.ID == 0 || b.L4.ID == a.HTTP.Services[0].ID || b.L4.Backends[0].ID == 0 || b.L4.Backends[0].ID == a.HTTP.Services[0].Backends[0].ID ||
		b.L4.Backends[0].Addr != netip.MustParseAddr("127.0.0.1") {
		t.Fatalf("%+v %+v", b, b.L4)
	}
	was := b.Clone()
	doc := cfg.Clone()
	for i := range doc.Farms {
		document.StripIDs(&doc.Farms[i])
	}
	f := doc.Farm("b")
	f.L4.Algorithm = farm.L4LeastConn
	f.L4.Backends = append([]farm.Backend{{Host: "127.0.0.2"}}, f.L4.Backends...)
	if _, err := h.Replace(context.Background(), root, "", 0, doc); err != nil {
		t.Fatal(err)
	}
	cfg, _ = h.Current()
	is := cfg.Farm("b")
	if is.ID != was.ID || is.L4.ID != was.L4.ID || is.L4.Backends[1].ID != was.L4.Backends[0].ID || is.L4.Backends[0].ID == 0 {
		t.Errorf("numbers changed: %+v, were %+v", is.L4, was.L4)
	}
	h.must(func(c *farm.Config) error { c.Farm("b").Name = "c"; return nil })
	cfg, _ = h.Current()
	if c := cfg.Farm("c"); c == nil || c.ID != was.ID || c.L4.ID != was.L4.ID {
		t.Errorf("renamed: %+v", c)
	}
}

func TestACopyOfAnL4FarmSharesNoNumber(t *testing.T) {
	h := newHouse(t)
	h.must(add(relay("a", 5000)))
	h.must(func(c *farm.Config) error { // an edit that did not strip them
		twin := c.Farms[0].Clone()
		twin.Name, twin.L4.Ports[0] = "b", farm.PortRange{First: 5001, Last: 5001}
		c.Farms = append(c.Farms, twin)
		return nil
	})
	cfg, _ := h.Current()
	a, b := cfg.Farm("a"), cfg.Farm("b")
	if a.ID == b.ID || a.L4.ID == b.L4.ID || a.L4.Backends[0].ID == b.L4.Backends[0].ID {
		t.Errorf("%+v %+v", a.L4, b.L4)
	}
}

func TestNamesOfBackendsOfL4FarmsAreResolved(t *testing.T) {
	h := newHouse(t)
	named := func(as farm.Resolve) func(*farm.Config) error {
		f := relay("a", 5000)
		f.L4.Backends = []farm.Backend{{Host: "db.example", Resolve: as}}
		return add(f)
	}
	_, err := h.Change(context.Background(), root, "", 0, named(farm.ResolveFirst))
	var broken *field.Error
	if !errors.As(err, &broken) || broken.Path != `farm "a" backend 0` || broken.Field != "ip" || !strings.Contains(broken.Message, "no such name") {
		t.Fatal(err)
	}
	h.name("db.example", "127.0.0.1") // the farm itself
	for _, as := range []farm.Resolve{farm.ResolveFirst, farm.ResolveAll} {
		if _, err := h.Change(context.Background(), root, "", 0, named(as)); !errors.As(err, &broken) {
			t.Errorf("resolve %q to the farm itself: %v", as, err)
		}
	}
	h.name("db.example", "10.0.0.7")
	h.must(named(farm.ResolveFirst))
	addr := func() string {
		cfg, _ := h.Current()
		return cfg.Farms[0].L4.Backends[0].Addr.String()
	}
	if addr() != "10.0.0.7" {
		t.Errorf("it is %s", addr())
	}
	h.name("db.example", "10.0.0.8")
	if n, err := h.RefreshNames(context.Background()); n != 1 || err != nil || addr() != "10.0.0.8" {
		t.Errorf("%d %v, it is %s", n, err, addr())
	}
	// A name that points to the farm itself must not come into force.
	h.name("db.example", "127.0.0.1")
	if n, _ := h.RefreshNames(context.Background()); addr() != "10.0.0.8" {
		t.Errorf("%d changed, it is %s", n, addr())
	}
}

func TestRefusedL4FarmChangesNothing(t *testing.T) {
	h := newHouse(t)
	h.must(add(relay("a", 5000, 5001)))
	before := h.moment()
	for name, edit := range map[string]func(*farm.Config) error{
		"collision": add(relay("b", 4999, 5001)),
		"of http":   add(shop("b", 5000)),
		"algorithm": func(c *farm.Config) error {
			c.Farms[0].L4.NAT, c.Farms[0].L4.Algorithm = farm.NATDirect, farm.L4LeastConn
			return nil
		},
		"weight": func(c *farm.Config) error { c.Farms[0].L4.Backends[0].Weight = 10; return nil },
		"duplicates": func(c *farm.Config) error {
			l := c.Farms[0].L4
			l.Backends = append(l.Backends, l.Backends[0])
			return nil
		},
	} {
		if _, err := h.Change(context.Background(), root, "", 0, edit); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
		if after := h.moment(); after != before {
			t.Errorf("%s: something changed: got %+v, want %+v", name, after, before)
		}
	}
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, errors.New("netd says no") })
	_, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error { c.Farms[0].L4.NAT = farm.NATTarget; return nil })
	if err == nil {
		t.Error("it was accepted although netd refused")
	}
	h.pub.Answer(nil)
	if _, err := h.Republish(context.Background()); err != nil {
		t.Error(err)
	}
	if after := h.moment(); after != before {
		t.Errorf("something changed: got %+v, want %+v", after, before)
	}
}

func TestARefusedStartOfAnL4FarmIsForgottenWithItsPorts(t *testing.T) {
	h := newHouse(t)
	f := relay("a", 5000)
	f.Stopped = true
	h.must(add(f))
	h.pub.Answer(portInUse("a"))
	if _, err := h.Change(context.Background(), root, "", 0, started("a")); err == nil {
		t.Fatal("started")
	}
	h.wantRejections("after the start", map[string]string{"a": "address in use"})
	h.pub.Answer(nil)
	h.must(func(c *farm.Config) error { c.Farms[0].L4.TTL = 5; return nil })
	h.wantRejections("after another change", map[string]string{"a": "address in use"})
	h.must(func(c *farm.Config) error {
		c.Farms[0].L4.Ports[0] = farm.PortRange{First: 5001, Last: 5001}
		return nil
	})
	h.wantRejections("after a move", nil)
}

// A farm with an older problem may be edited; a farm that moved must run.
func TestL4ProblemsMatterOnlyForMovedFarms(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*farm.L4)
		refused bool
	}{
		"nothing of it": {func(l *farm.L4) { l.TTL = 5 }, false},
		"ports":         {func(l *farm.L4) { l.Ports[0].Last++ }, true},
		"protocol":      {func(l *farm.L4) { l.Protocol = farm.L4UDP }, true},
		"data path":     {func(l *farm.L4) { l.DataPath = farm.DataPathKernel }, true},
	} {
		h := newHouse(t)
		h.must(add(relay("a", 5000)))
		h.pub.Answer(portInUse("a"))
		if _, err := h.Republish(context.Background()); err != nil {
			t.Fatal(err)
		}
		_, err := h.Change(context.Background(), root, "", 0, func(cfg *farm.Config) error { c.edit(cfg.Farms[0].L4); return nil })
		if c.refused != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
