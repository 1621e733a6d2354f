package apply_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// namesOf returns a gslb farm with a service for all addresses of a name.
func namesOf(host string, more ...farm.Backend) farm.Farm {
	return farm.Farm{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 5353, Global: &farm.GSLB{
		Services: []farm.DNSService{{Name: "web", Algorithm: farm.DNSRoundRobin, Backends: append([]farm.Backend{{Host: host, Resolve: farm.ResolveAll}}, more...)}}}}
}

func addresses(format string, from, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(format, from+i))
	}
	return strings.Join(list, ",")
}

// inUse counts the addresses of the service: those in use of each IP version, and those that
// left.
func inUse(cfg *farm.Config) (v4, v6, left int) {
	for _, b := range group(cfg).Backends() {
		switch {
		case b.Of == 0:
		case b.Left:
			left++
		case b.Addr.Is4():
			v4++
		default:
			v6++
		}
	}
	return v4, v6, left
}

func (h *house) wantInUse(what string, v4, v6, left int) {
	h.t.Helper()
	cfg, _ := h.Current()
	if a, b, c := inUse(cfg); a != v4 || b != v6 || c != left {
		h.t.Errorf("%s: %d of IPv4, %d of IPv6, %d left; want %d, %d, %d", what, a, b, c, v4, v6, left)
	}
}

func (h *house) refresh() {
	h.t.Helper()
	if _, err := h.RefreshNames(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// Answers use addresses of both IP versions, regardless of the vip's. A set may change as a
// whole: addresses that left do not count, and excess ones are left out.
func TestAServiceHasAllAddressesOfANameThatFit(t *testing.T) {
	h := newHouse(t)
	h.name("all.example", addresses("10.0.0.%d", 1, 40)+","+addresses("2001:db8::%x", 1, 40))
	h.must(add(namesOf("all.example", farm.Backend{Host: "10.9.9.9"})))
	h.wantInUse("at first", 40, 40, 0)
	h.name("all.example", addresses("10.0.1.%d", 1, 40)+","+addresses("2001:db8:1::%x", 1, 40))
	h.refresh()
	h.wantInUse("all changed", 40, 40, 80)
	h.name("all.example", addresses("10.0.1.%d", 1, 64)+",2001:db8:1::1")
	h.refresh()
	h.wantInUse("too many", gslbfarm.MaxBackends-1, 1, 40+39+40)
	h.name("all.example", "10.0.1.1,0.0.0.0,224.0.0.1,10.0.1.2")
	h.refresh()
	cfg, _ := h.Current()
	if a, _, _ := inUse(cfg); a != 2 {
		t.Errorf("bad addresses spoil the set: %d are in use", a)
	}
}

// Addresses that no server can have are skipped for a name that stands for one server.
func TestABackendHasAnAddressOfItsNameThatKeepsTheRules(t *testing.T) {
	h := newHouse(t)
	h.name("one.example", "0.0.0.0,10.0.0.7,224.0.0.1")
	f := namesOf("one.example")
	f.Global.Services[0].Backends[0].Resolve = farm.ResolveFirst
	h.must(add(f))
	want := func(what, addr string) {
		t.Helper()
		cfg, _ := h.Current()
		if got := group(cfg).Backends()[0].Addr.String(); got != addr {
			t.Errorf("%s: the address is %s, want %s", what, got, addr)
		}
	}
	want("at first", "10.0.0.7")
	h.name("one.example", "0.0.0.0,10.0.0.9")
	h.refresh()
	want("changed", "10.0.0.9")
	h.name("one.example", "0.0.0.0")
	h.refresh()
	want("only bad ones", "10.0.0.9")
}

// The last addresses of a name that no longer exists may belong to somebody else one day.
func TestAddressesOfARemovedNameAreWithdrawn(t *testing.T) {
	h := newHouse(t)
	h.name("all.example", "10.0.0.1,2001:db8::1")
	h.must(add(namesOf("all.example")))
	h.name("all.example", "")
	h.refresh()
	h.wantInUse("gone", 1, 1, 0)
	h.names.Withdraw("all.example")
	h.refresh()
	h.wantInUse("gone for long", 0, 0, 2)
	h.name("all.example", "10.0.0.1")
	h.refresh()
	h.wantInUse("back", 1, 0, 1)
}

// An IPv4 address in an AAAA record stays one, as the name has it. Other farms connect to the
// address, so there it is the same server as that of the A record.
func TestAddressesKeepTheTypeOfTheirRecord(t *testing.T) {
	for _, resolved := range []farm.Resolve{farm.ResolveAll, farm.ResolveFirst} {
		h := newHouse(t)
		h.name("web.example", "::ffff:10.0.0.1")
		f := namesOf("web.example")
		f.Global.Services[0].Backends[0].Resolve = resolved
		cfg := h.must(add(f)).Config
		last := group(cfg).Backends()[len(group(cfg).Backends())-1]
		if last.Addr != netip.MustParseAddr("::ffff:10.0.0.1") || snapshot.Check(h.pub.InForce()) != nil {
			t.Errorf("%s: the address is %s, %v", resolved, last.Addr, snapshot.Check(h.pub.InForce()))
		}
	}
	h := newHouse(t)
	h.name("db.example", "10.0.0.1,::ffff:10.0.0.1,::ffff:10.0.0.2")
	want(t, h.must(add(spreading(farm.ResolveAll, "db.example"))).Config, "10.0.0.1:8081 3/0", "10.0.0.2:8081 3/0")
	h = newHouse(t)
	h.name("web.example", "10.0.0.1,::ffff:10.0.0.1")
	h.must(add(namesOf("web.example")))
	h.wantInUse("both types", 1, 1, 0)
}
