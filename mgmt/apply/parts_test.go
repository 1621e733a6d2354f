package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// spreading returns a farm with a backend that stands for all addresses of a name.
func spreading(as farm.Resolve, host string) farm.Farm {
	f := shop("a", 8080)
	f.HTTP.Services[0].Backends = []farm.Backend{{Host: host, Port: 8081, Weight: 3, Resolve: as}, {Host: "10.9.9.9", Port: 8081}}
	return f
}

func group(cfg *farm.Config) farm.Group { return cfg.Farms[0].Groups()[0] }

// parts returns the parts as "address:port weight/priority", followed by the maintenance mode
// of those that left.
func parts(cfg *farm.Config) (out []string) {
	for _, b := range group(cfg).Backends() {
		if b.Of != 0 {
			s := fmt.Sprintf("%s %d/%d", b.AddrPort(), b.Weight, b.Priority)
			if b.Left {
				s += " " + string(b.Maintenance)
			}
			out = append(out, s)
		}
	}
	return out
}

// idOf returns the ID of the part with an address.
func idOf(cfg *farm.Config, addr string) uint32 {
	for _, b := range group(cfg).Backends() {
		if b.Of != 0 && b.Addr == netip.MustParseAddr(addr) {
			return b.ID
		}
	}
	return 0
}

func (h *house) refreshed(want int) *farm.Config {
	h.t.Helper()
	if n, err := h.RefreshNames(context.Background()); n != want || err != nil {
		h.t.Errorf("%d backends changed, want %d, %v", n, want, err)
	}
	cfg, _ := h.Current()
	if err := snapshot.Check(h.pub.InForce()); err != nil {
		h.t.Errorf("the engine rejects it: %v", err)
	}
	return cfg
}

func want(t *testing.T, cfg *farm.Config, parts_ ...string) {
	t.Helper()
	if got := parts(cfg); !slices.Equal(got, parts_) {
		t.Errorf("parts %q, want %q", got, parts_)
	}
}

func TestPartsOfOneNameStayTogether(t *testing.T) {
	h := newHouse(t)
	h.name("first.example", "10.0.0.3,10.0.0.2")
	h.name("second.example", "10.0.0.4,10.0.0.1")
	f := spreading(farm.ResolveAll, "first.example")
	f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{Host: "second.example", Port: 8081, Weight: 1, Resolve: farm.ResolveAll})
	want(t, h.must(add(f)).Config, "10.0.0.2:8081 3/0", "10.0.0.3:8081 3/0", "10.0.0.1:8081 1/0", "10.0.0.4:8081 1/0")
}

func TestEveryAddressOfANameIsABackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Uint32
		h := newHouse(t, apply.WithBusy(func(id uint32) bool { return busy.Load() == id }))
		h.name("db.example", "10.0.0.2,10.0.0.1,2001:db8::1,10.9.9.9")
		r := h.must(add(spreading(farm.ResolveAll, "db.example")))
		want(t, r.Config, "10.0.0.1:8081 3/0", "10.0.0.2:8081 3/0") // 10.9.9.9 is another backend, and the VIP is IPv4
		if strings.Contains(r.Diff, "10.0.0.1") || !strings.Contains(r.Diff, "resolve: all") {
			t.Errorf("the document:\n%s", r.Diff)
		}
		one, two := idOf(r.Config, "10.0.0.1"), idOf(r.Config, "10.0.0.2")
		if one == 0 || two == 0 || one == two {
			t.Fatalf("IDs %d and %d", one, two)
		}
		if b := h.pub.InForce().Farms[0].HTTP.Services[0].Backends[0]; b.Maintenance != farm.MaintenanceCut {
			t.Errorf("the name itself gets traffic: %+v", b)
		}
		h.refreshed(0)
		published := h.pub.Published()

		// One address leaves and one is new: a part that stays keeps its ID, and a part that
		// left drains.
		h.name("db.example", "10.0.0.2,10.0.0.3")
		cfg := h.refreshed(2)
		want(t, cfg, "10.0.0.1:8081 3/0 drain", "10.0.0.2:8081 3/0", "10.0.0.3:8081 3/0")
		if idOf(cfg, "10.0.0.2") != two || idOf(cfg, "10.0.0.1") != one || h.pub.Published() != published+1 {
			t.Errorf("%+v", group(cfg).Backends())
		}
		if _, rev := h.Current(); rev.Number != 1 {
			t.Errorf("revision %d, want 1", rev.Number)
		}
		busy.Store(one)
		time.Sleep(time.Minute)
		h.refreshed(0)
		busy.Store(0)
		want(t, h.refreshed(1), "10.0.0.2:8081 3/0", "10.0.0.3:8081 3/0")

		// Even a part with open connections is removed after an hour.
		h.name("db.example", "10.0.0.2")
		cfg = h.refreshed(1)
		busy.Store(idOf(cfg, "10.0.0.3"))
		time.Sleep(59 * time.Minute)
		h.refreshed(0)
		time.Sleep(2 * time.Minute)
		want(t, h.refreshed(1), "10.0.0.2:8081 3/0")

		// An address that returns while its part drains is used again.
		h.name("db.example", "10.0.0.2,10.0.0.4")
		four := idOf(h.refreshed(1), "10.0.0.4")
		h.name("db.example", "10.0.0.2")
		h.refreshed(1)
		h.name("db.example", "10.0.0.2,10.0.0.4")
		if cfg = h.refreshed(1); idOf(cfg, "10.0.0.4") != four {
			t.Error("it has another ID")
		}
		want(t, cfg, "10.0.0.2:8081 3/0", "10.0.0.4:8081 3/0")

		// A part without connections drains for ten seconds.
		h.name("db.example", "10.0.0.2")
		h.refreshed(1)
		time.Sleep(9 * time.Second)
		h.refreshed(0)
		time.Sleep(time.Second)
		want(t, h.refreshed(1), "10.0.0.2:8081 3/0")
		h.name("db.example", "10.0.0.2,10.0.0.4")
		cfg = h.refreshed(1)

		// The addresses stay if the name does not exist or cannot be resolved.
		h.name("db.example", "")
		h.refreshed(0)
		h.names.Fail(errors.New("name server 10.0.0.53:53: it answers SERVFAIL"))
		h.refreshed(0)
		want(t, cfg, "10.0.0.2:8081 3/0", "10.0.0.4:8081 3/0")
	})
}

func TestPartsFollowTheirBackend(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "10.0.0.1,10.0.0.2")
	cfg := h.must(add(spreading(farm.ResolveAll, "db.example"))).Config
	one := idOf(cfg, "10.0.0.1")
	h.names.Fail(errors.New("nobody answers"))
	cfg = h.must(func(c *farm.Config) error {
		b := &group(c).Backends()[0]
		b.Weight, b.Maintenance = 7, farm.MaintenanceCut
		return nil
	}).Config
	if b := group(cfg).Parts(group(cfg).Backends()[0].ID); len(b) != 2 || b[0].Weight != 7 || b[1].Maintenance != farm.MaintenanceCut || b[0].ID != one {
		t.Errorf("%+v", b)
	}
	// A new backend comes before the parts, and their IDs stay.
	cfg = h.must(func(c *farm.Config) error {
		if at := group(c).Add(farm.Backend{Host: "10.0.0.7", Port: 80}); at != 2 {
			t.Errorf("added at %d, want 2", at)
		}
		return nil
	}).Config
	if idOf(cfg, "10.0.0.1") != one || len(group(cfg).Configured()) != 3 {
		t.Errorf("%+v", group(cfg).Backends())
	}
	// A draining part follows a cut of its backend.
	h.names.Fail(nil)
	h.name("db.example", "10.0.0.2")
	cfg = h.refreshed(1)
	want(t, cfg, "10.0.0.1:8081 7/0 cut", "10.0.0.2:8081 7/0")
	h.must(func(c *farm.Config) error { group(c).Backends()[0].Maintenance = farm.MaintenanceOff; return nil })
	cfg, _ = h.Current()
	want(t, cfg, "10.0.0.1:8081 7/0 drain", "10.0.0.2:8081 7/0")
	h.name("db.example", "10.0.0.1,10.0.0.2")
	cfg = h.refreshed(1)
	// A document omits the parts, and applying it again is not a change.
	exported, err := h.Replace(context.Background(), root, "", 0, &farm.Config{Farms: []farm.Farm{cfg.Farms[0].Clone()}})
	if err != nil || !exported.Unchanged {
		t.Errorf("%v %+v", err, exported.Diff)
	}
	// Deleting a backend deletes its parts.
	cfg = h.must(func(c *farm.Config) error { g := group(c); g.SetBackends(g.Backends()[1:]); return nil }).Config
	if len(parts(cfg)) != 0 || len(group(cfg).Backends()) != 2 {
		t.Errorf("%+v", group(cfg).Backends())
	}
}

// A copied backend has the address of one server; if it now stands for several, its name is
// queried.
func TestCopiedNameIsResolvedAgain(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "10.0.0.1,10.0.0.2")
	h.must(add(namedFarm("db.example")))
	cfg := h.must(func(c *farm.Config) error {
		twin := c.Farms[0].Clone()
		twin.Name, twin.VPort, twin.HTTP.Services[0].Backends[0].Resolve = "b", 8099, farm.ResolveAll
		c.Farms = append(c.Farms, twin)
		return nil
	}).Config
	cfg.Farms = cfg.Farms[1:]
	want(t, cfg, "10.0.0.1:8081 0/0", "10.0.0.2:8081 0/0")
	if b := group(cfg).Backends()[0]; b.Addr.IsValid() {
		t.Errorf("the name itself has the address %s", b.Addr)
	}
}

func TestServiceRecordsGivePortsAndShares(t *testing.T) {
	h := newHouse(t)
	q := resolve.Question{Name: "_http._tcp.example", Service: true}
	target := func(addr string, port, priority, weight uint16) resolve.Target {
		return resolve.Target{Addr: netip.MustParseAddr(addr), Host: "web.example", Port: port, Priority: priority, Weight: weight}
	}
	h.names.Serve(q, target("10.0.0.1", 8080, 10, 60000), target("10.0.0.2", 8081, 10, 20000), target("10.0.0.3", 8082, 500, 0))
	f := spreading(farm.ResolveService, q.Name)
	f.HTTP.Services[0].Backends[0].Port = 0
	cfg := h.must(add(f)).Config
	want(t, cfg, "10.0.0.1:8080 9/1", "10.0.0.2:8081 3/1", "10.0.0.3:8082 1/2")
	if b := group(cfg).Parts(group(cfg).Backends()[0].ID); b[0].Host != "web.example" {
		t.Errorf("%+v", b)
	}
	h.refreshed(0)
	h.names.Fail(errors.New("nobody answers")) // the parts stay
	cfg = h.must(func(c *farm.Config) error { group(c).Backends()[1].Weight = 5; return nil }).Config
	want(t, cfg, "10.0.0.1:8080 9/1", "10.0.0.2:8081 3/1", "10.0.0.3:8082 1/2")
	h.names.Fail(nil)
	h.names.Serve(q, target("10.0.0.1", 8085, 10, 5), target("10.0.0.2", 8081, 10, 4))
	want(t, h.refreshed(3), "10.0.0.1:8080 9/1 drain", "10.0.0.1:8085 5/1", "10.0.0.2:8081 4/1", "10.0.0.3:8082 1/2 drain")
}

// The weights of SRV records are shares among the servers of one priority (RFC 2782).
func TestSRVWeightsAreSharesWithinAPriority(t *testing.T) {
	h := newHouse(t)
	q := resolve.Question{Name: "_http._tcp.example", Service: true}
	var targets []resolve.Target
	for i, w := range []struct{ priority, weight uint16 }{{1, 10}, {1, 30}, {2, 2}, {2, 6}, {3, 65535}} {
		targets = append(targets, resolve.Target{Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), Host: "web.example", Port: 80, Priority: w.priority, Weight: w.weight})
	}
	h.names.Serve(q, targets...)
	f := spreading(farm.ResolveService, q.Name)
	f.HTTP.Services[0].Backends[0].Port = 0
	want(t, h.must(add(f)).Config, "10.0.0.1:80 3/1", "10.0.0.2:80 9/1", "10.0.0.3:80 2/2", "10.0.0.4:80 6/2", "10.0.0.5:80 9/3")
}

func TestUnresolvedNamesDoNotStopAFarm(t *testing.T) {
	h := newHouse(t)
	h.names.Fail(errors.New("name server 10.0.0.53:53: no answer within 1s"))
	r := h.must(add(namedFarm("db.example")))
	if len(r.Warnings) != 1 || r.Warnings[0].Field != "ip" || !strings.Contains(r.Warnings[0].Message, "db.example has no address yet: name server 10.0.0.53:53") {
		t.Errorf("warnings %+v", r.Warnings)
	}
	if b := group(h.pub.InForce()).Backends()[0]; b.Maintenance != farm.MaintenanceCut || snapshot.Check(h.pub.InForce()) != nil {
		t.Errorf("%+v", b)
	}
	if cfg, _ := h.Current(); group(cfg).Backends()[0].Maintenance != farm.MaintenanceOff {
		t.Error("the configuration has the maintenance mode")
	}
	late := newHouse(t)
	late.names.Fail(fmt.Errorf("lookup: %w", context.DeadlineExceeded))
	if r := late.must(add(namedFarm("db.example"))); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "no answer within 5s") {
		t.Errorf("warnings %+v", r.Warnings)
	}
	h.names.Fail(nil)
	h.name("db.example", "10.0.0.1")
	if cfg := h.refreshed(1); addr(cfg) != "10.0.0.1" || group(h.pub.InForce()).Backends()[0].Maintenance != farm.MaintenanceOff {
		t.Errorf("%+v", group(cfg).Backends())
	}
	// A name that does not exist yet is accepted as a set of zero servers.
	if r := h.must(add(func() farm.Farm {
		f := spreading(farm.ResolveAll, "later.example")
		f.Name, f.VPort = "b", 8090
		return f
	}())); len(r.Warnings) == 0 {
		t.Error("no warning")
	}
}

func TestAddressesOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t)
	h.store = st
	h.Applier = apply.New(st, h.pub, apply.WithRules(validate.Rules{}), apply.WithNames(&h.names))
	h.name("db.example", "10.0.0.1,10.0.0.2")
	h.must(add(spreading(farm.ResolveAll, "db.example")))
	h.name("db.example", "10.0.0.2,10.0.0.3")
	cfg := h.refreshed(2)
	three := idOf(cfg, "10.0.0.3")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = store.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var later applytest.Names
	later.Fail(errors.New("nobody answers"))
	h.Applier = apply.New(st, h.pub, apply.WithRules(validate.Rules{}), apply.WithNames(&later))
	if _, err := h.Republish(context.Background()); err != nil {
		t.Fatal(err)
	}
	now := h.refreshed(0) // the name is not resolved yet
	_, rev := h.Current()
	if rev.Number != 1 || idOf(now, "10.0.0.3") != three || idOf(now, "10.0.0.1") == 0 {
		t.Errorf("revision %d: %q", rev.Number, parts(now))
	}
	// IDs are not reused after a restart.
	later.Fail(nil)
	later.Set("db.example", "10.0.0.2,10.0.0.3,10.0.0.4")
	if four := idOf(h.refreshed(1), "10.0.0.4"); four <= three {
		t.Errorf("ID %d after %d", four, three)
	}
}

func TestSharedNamesAreResolvedOnce(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "10.0.0.1")
	f := namedFarm("db.example")
	f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{Host: "db.example", Port: 8082}, farm.Backend{Host: "db.example", Port: 8083})
	h.must(add(f))
	if n := h.names.Asked("db.example"); n != 1 {
		t.Errorf("%d lookups", n)
	}
	if cfg, _ := h.Current(); len(apply.NamesOf(cfg)) != 1 {
		t.Errorf("names %v", apply.NamesOf(cfg))
	}
}

func TestPartsOfL4FarmsKeepTheirNumbers(t *testing.T) {
	h := newHouse(t)
	h.name("db.example", "10.0.0.1,10.0.0.2")
	f := relay("a", 5000)
	f.L4.Backends = []farm.Backend{{Host: "db.example", Resolve: farm.ResolveAll}, {Host: "10.0.0.9"}}
	h.must(add(f))
	h.name("db.example", "10.0.0.2,10.0.0.3")
	cfg := h.refreshed(2)
	numbers := map[string]int{}
	g := group(cfg)
	for i, n := range g.Numbers() {
		numbers[g.Backends()[i].ShownAddress()] = n
	}
	if numbers["db.example"] != 0 || numbers["10.0.0.9"] != 1 || numbers["10.0.0.1"] != 2 || numbers["10.0.0.2"] != 3 || numbers["10.0.0.3"] != 4 {
		t.Errorf("numbers %v", numbers)
	}
}
