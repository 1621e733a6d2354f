package kernel_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// site is a network with an appliance whose kernel carries farms.
type site struct {
	*housetest.Site
	t          *testing.T
	run        *nft.Runner
	keeper     *kernel.Keeper
	generation uint64
	vip4, vip6 string
}

func newSite(t *testing.T, backends int) *site {
	t.Helper()
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	s := &site{Site: housetest.Plan{Clients: 2, Sources: 20, Backends: backends}.Build(housetest.New(t)), t: t}
	s.vip4, s.vip6 = s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	s.Appliance.Sysctl("net.ipv6.conf.all.forwarding", "1")
	for i, b := range s.Backends {
		b.Server(fmt.Sprintf("b%d", i+1), 80, 8080)
	}
	for _, c := range s.Clients {
		c.Route("default via "+housetest.ApplianceFront4, "default via "+housetest.ApplianceFront6)
	}
	s.run = run
	s.renew()
	return s
}

// renew makes a keeper that knows nothing of what the kernel has.
func (s *site) renew() {
	quiet := slog.New(slog.DiscardHandler)
	s.keeper = kernel.New(kernel.Options{Filter: kernel.NewNftables(s.run, quiet), Log: quiet})
}

// apply has the appliance carry the farms, all of them.
func (s *site) apply(farms ...farm.Farm) {
	s.t.Helper()
	s.generation++
	var problems map[uint32]string
	s.Appliance.Do(func() {
		problems = s.keeper.Apply(context.Background(), s.generation, &farm.Config{Farms: farms})
	})
	for id, p := range problems {
		s.t.Fatalf("farm %d: %s", id, p)
	}
}

// l4 makes a farm in the kernel on a port of the VIP, with all backends.
func (s *site) l4(id uint32, protocol farm.L4Protocol, nat farm.NATType, six bool, port uint16) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.Protocol, l.NAT, l.DataPath = id, protocol, nat, farm.DataPathKernel
	if port != 0 {
		l.Ports = []farm.PortRange{{First: port, Last: port}}
	}
	f := farm.Farm{ID: id, Name: fmt.Sprintf("f%d", id), Profile: farm.ProfileL4, VIP: netip.MustParseAddr(s.vip4), L4: l}
	if six {
		f.VIP = netip.MustParseAddr(s.vip6)
	}
	for i, b := range s.Backends {
		addr := netip.MustParseAddr(b.V4)
		if six {
			addr = netip.MustParseAddr(b.V6)
		}
		l.Backends = append(l.Backends, farm.Backend{ID: id*10 + uint32(i), Host: addr.String(), Addr: addr, Port: 8080})
	}
	return f
}

// ask asks the farm once, from an address of the client or any.
func (s *site) ask(network string, from netip.Addr, to string) housetest.Seen {
	s.t.Helper()
	var source netip.AddrPort
	if from.IsValid() {
		source = netip.AddrPortFrom(from, 0)
	}
	a, err := s.Client.Ask(network, source, to)
	if err != nil {
		s.t.Fatal(err)
	}
	a.Close()
	return a.Seen
}

func TestEachAddressRewriteReachesItsBackends(t *testing.T) {
	s := newSite(t, 2)
	var farms []farm.Farm
	id := uint32(0)
	for _, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP} {
		for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
			for _, six := range []bool{false, true} {
				id++
				f := s.l4(id, protocol, nat, six, uint16(1000+id))
				f.L4.Algorithm = farm.L4RoundRobin
				farms = append(farms, f)
			}
		}
	}
	s.apply(farms...)
	for _, f := range farms {
		to := netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
		client, appliance := netip.MustParseAddr("10.10.1.2"), netip.MustParseAddr(housetest.ApplianceBack4)
		if f.VIP.Is6() {
			client, appliance = netip.MustParseAddr("fd00:1::2"), netip.MustParseAddr(housetest.ApplianceBack6)
		}
		want := client
		if f.L4.NAT == farm.NATMasquerade {
			want = appliance
		}
		got := map[string]int{}
		for range 4 {
			seen := s.ask(string(f.L4.Protocol), client, to)
			got[seen.Server]++
			if seen.From.Addr() != want || seen.To.Port() != 8080 {
				t.Errorf("%s %s: the backend saw %s → %s", f.L4.Protocol, f.L4.NAT, seen.From, seen.To)
			}
		}
		if got["b1"] != 2 || got["b2"] != 2 {
			t.Errorf("%s %s: %v", f.L4.Protocol, f.L4.NAT, got)
		}
	}
}

func countOf(text, part string) int { return strings.Count(text, part) }

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	sysnettest.Eventually(t, func() (string, bool) { return "not so that " + what, ok() })
}
