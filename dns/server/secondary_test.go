package server_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
)

// secondary starts knot as a secondary of zone until the test ends. It returns its address as
// soon as it has copied the zone.
func (a *appliance) secondary(zone string) netip.AddrPort {
	t := a.t
	t.Helper()
	program, dir, at := installed(t, "knotd"), t.TempDir(), porttest.Both(t)
	conf := fmt.Sprintf(`server:
  rundir: %[1]s
  listen: 127.0.0.1@%[2]d
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: %[1]s/db
remote:
  - id: primary
    address: 127.0.0.1@%[3]d
zone:
  - domain: %[4]s
    storage: %[1]s
    master: primary
`, dir, at.Port(), a.farm.VPort, zone)
	path := filepath.Join(dir, "knot.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	addr := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())
	probe := query(t, zone+" SOA")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if raw, err := exchangeWith(addr, probe); err == nil && raw[3]&0xf == 0 {
			return addr
		}
	}
	t.Fatal("the secondary does not get the zone")
	return addr
}

// delegated returns a farm with a zone and three zones below it. One is not delegated.
func delegated() *farm.GSLB {
	return &farm.GSLB{Transfers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Zones: []farm.Zone{
		{ID: 1, Name: "example.com", NameServer: "ns1", Serial: 5, Records: records(`
			@        NS ns1
			ns1      A  192.0.2.1
			www      A  192.0.2.10
			sub      NS ns.sub
			sub      NS ns1
			sub      DS 12345 13 2 0011223344556677889900112233445566778899001122334455667788990011
			ns.sub   A  192.0.2.50
			ns.sub   AAAA 2001:db8::50
			a.b.deep NS ns1
		`)},
		{ID: 2, Name: "sub.example.com", NameServer: "ns", Serial: 5, Records: records(`
			@   NS ns
			ns  A  192.0.2.51
			www A  192.0.2.60
		`)},
		{ID: 3, Name: "a.b.deep.example.com", NameServer: "ns", Serial: 5, Records: records("@ NS ns\nns A 192.0.2.51")},
		{ID: 4, Name: "apart.example.com", NameServer: "ns", Serial: 5, Records: records("@ NS ns\nns A 192.0.2.51")},
	}}
}

// A secondary may have only the upper of two zones of a farm. It then needs the delegation.
func TestATransferHasTheDelegationsToZonesOfTheSameFarm(t *testing.T) {
	const upper = "www.example.com. 3600 IN A 192.0.2.10"
	cut := []string{
		"sub.example.com. 3600 IN NS ns.sub.example.com.", "sub.example.com. 3600 IN NS ns1.example.com.",
		"sub.example.com. 3600 IN DS 12345 13 2 0011223344556677889900112233445566778899001122334455667788990011",
		"ns.sub.example.com. 3600 IN A 192.0.2.50", "ns.sub.example.com. 3600 IN AAAA 2001:db8::50",
		"a.b.deep.example.com. 3600 IN NS ns1.example.com.",
	}
	g := delegated()
	a := newAppliance(t, 1, g)
	check := func(what string, more int) {
		t.Helper()
		got := a.transferred("example.com")
		if want := slices.Concat([]string{upper}, cut); len(got) != 2+2+len(want)+more || !containsAll(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		// The farm itself answers from the lower zones, and their transfers have only their records.
		for question, want := range map[string]string{
			"www.sub.example.com A": "www.sub.example.com. 3600 IN A 192.0.2.60",
			"sub.example.com NS":    "sub.example.com. 3600 IN NS ns.sub.example.com.",
			"ns.sub.example.com A":  "ns.sub.example.com. 3600 IN A 192.0.2.51",
		} {
			if got := a.ask(question, false); !same(got.answer, want) || got.flags&flagAA == 0 {
				t.Errorf("%s, %s: %s", what, question, got)
			}
		}
		if got := a.ask("ns.sub.example.com AAAA", false); len(got.answer) > 0 {
			t.Errorf("%s: the lower zone answers from the upper one: %s", what, got)
		}
		if got := a.transferred("sub.example.com"); len(got) != 2+3 || containsAll(got, cut[1:2]) {
			t.Errorf("%s: the lower zone has %q", what, got)
		}
	}
	check("at first", 0)
	edited := *g
	edited.Zones = slices.Clone(g.Zones)
	for i := range edited.Zones { // only the changed names are compiled
		edited.Zones[i].Serial++
		r := farm.Record{ID: 99, Name: "new", Type: "A", Data: "192.0.2.70"}
		edited.Zones[i].Records = append(slices.Clone(g.Zones[i].Records), r)
	}
	edited.Zones[1].Records = g.Zones[1].Records
	a.farm.Global = &edited
	a.publish(a.farm)
	check("after a change", 1)
	if got := a.transferred("apart.example.com"); len(got) != 2+3 {
		t.Errorf("the other zone: %q", got)
	}
}

// A copy has the names of services also before the first probe, and if the service then has
// queries fail. The secondary would answer that these names do not exist.
func TestATransferHasTheAddressesOfUnprobedServices(t *testing.T) {
	g := example()
	g.Transfers = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	g.Services[0].AllDown = farm.AllDownFail
	a := newAppliance(t, 1, g)
	all := []string{
		"shop.example.com. 30 IN A 192.0.2.100", "shop.example.com. 30 IN A 192.0.2.101",
		"shop.example.com. 30 IN AAAA 2001:db8::100",
	}
	check := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range a.transferred("example.com") {
			if strings.HasPrefix(r, "shop.") {
				got = append(got, r)
			}
		}
		if !same(got, want...) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("before the first probe", all...)
	if got := a.ask("shop.example.com A", false); got.rcode() != 2 {
		t.Errorf("a query before the first probe: %s", got)
	}
	a.down(1, 2, 3)
	check("all down", all...)
	if got := a.ask("shop.example.com A", false); got.rcode() != 2 {
		t.Errorf("a query while all are down: %s", got)
	}
	a.up(2)
	check("one up", all[1], all[2])
	edited := *g
	edited.Services = slices.Clone(g.Services)
	edited.Services[0].Backends = slices.Clone(g.Services[0].Backends)
	edited.Services[0].Backends[1].Maintenance = farm.MaintenanceDrain
	a.farm.Global = &edited
	a.publish(a.farm)
	check("the last one in maintenance", all[0], all[2])
}

func containsAll(list, want []string) bool {
	for _, one := range want {
		if !slices.Contains(list, one) {
			return false
		}
	}
	return true
}

func TestASecondaryOfOnlyTheUpperZoneRefersToTheLowerOne(t *testing.T) {
	a := newAppliance(t, 1, delegated())
	at := a.secondary("example.com")
	for question, want := range map[string][]string{
		"www.sub.example.com A": {
			"sub.example.com. 3600 IN NS ns.sub.example.com.", "sub.example.com. 3600 IN NS ns1.example.com.",
		},
		"www.a.b.deep.example.com A": {"a.b.deep.example.com. 3600 IN NS ns1.example.com."},
	} {
		raw, err := exchangeWith(at, query(t, question))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, raw); got.rcode() != 0 || !same(got.authority, want...) {
			t.Errorf("%s: %s", question, got)
		}
	}
}
