package nftables_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

func TestEachAddressRewriteReachesItsBackends(t *testing.T) {
	s := l4test.NewSite(t, 2)
	var farms []farm.Farm
	id := uint32(0)
	for _, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP} {
		for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
			for _, six := range []bool{false, true} {
				id++
				f := s.Farm(id, protocol, nat, six, uint16(1000+id))
				f.L4.Algorithm = farm.L4RoundRobin
				farms = append(farms, f)
			}
		}
	}
	s.Apply(farms...)
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
			seen := s.Ask(string(f.L4.Protocol), client, to)
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

// The chain for source addresses exists only while a farm needs it, and connections survive
// its changes.
func TestSourceChainExistsOnDemand(t *testing.T) {
	for _, six := range []bool{false, true} {
		s := l4test.NewSite(t, 1)
		plain := s.Farm(1, farm.L4TCP, farm.NATTarget, six, 80)
		masqueraded := s.Farm(2, farm.L4TCP, farm.NATMasquerade, six, 81)
		client, appliance := netip.MustParseAddr("10.10.1.2"), netip.MustParseAddr(housetest.ApplianceBack4)
		if six {
			client, appliance = netip.MustParseAddr("fd00:1::2"), netip.MustParseAddr(housetest.ApplianceBack6)
		}
		there := func() bool { return strings.Contains(s.Appliance.Run("nft", "list", "ruleset"), "chain postrouting") }
		from := func(f farm.Farm) netip.Addr {
			t.Helper()
			return s.Ask("tcp", client, netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()).From.Addr()
		}
		s.Apply(plain)
		if got := from(plain); got != client || there() {
			t.Errorf("alone: the backend saw %s; a chain for sources: %v", got, there())
		}
		kept, err := s.Client.Ask("tcp", netip.AddrPortFrom(client, 0), netip.AddrPortFrom(plain.VIP, 80).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(kept.Close)
		for range 2 {
			s.Apply(plain, masqueraded)
			if a, b := from(plain), from(masqueraded); a != client || b != appliance || !there() {
				t.Errorf("next to a farm with nat: the backend saw %s and %s; a chain for sources: %v", a, b, there())
			}
			if err := kept.Again("beside"); err != nil {
				t.Error(err)
			}
			s.Apply(plain)
			if got := from(plain); got != client || there() {
				t.Errorf("alone again: the backend saw %s; a chain for sources: %v", got, there())
			}
			if err := kept.Again("alone"); err != nil {
				t.Error(err)
			}
		}
	}
}

// A farm without backends refuses connections, even if no other rule enables connection
// tracking.
func TestLoneFarmWithoutBackendsRefuses(t *testing.T) {
	s := l4test.NewSite(t, 1)
	s.Appliance.Server("appliance", 80)
	f := s.Farm(1, farm.L4TCP, farm.NATTarget, false, 80)
	f.L4.Backends = nil
	s.Apply(f)
	if a, err := s.Client.Ask("tcp", netip.AddrPort{}, s.VIP4+":80"); err == nil {
		t.Errorf("answered by %s", a.Server)
		a.Close()
	}
}

// Times are informative: with two CPUs 0.4 s to load, 70 ms for an edit.
func TestAThousandFarmsAreLoadedEditedAndServed(t *testing.T) {
	s := l4test.NewSite(t, 1)
	farms := l4test.Many(1000)
	began := time.Now()
	s.Apply(farms...)
	t.Logf("loaded in %v", time.Since(began))
	for i := range 5 {
		farms[500+i].L4.Backends[3].Weight = 5
		began := time.Now()
		s.Apply(farms...)
		t.Logf("edited in %v", time.Since(began))
	}
	s.Renew()
	began = time.Now()
	s.Apply(farms...)
	t.Logf("rebuilt with all counters in %v", time.Since(began))
	f := s.Farm(2000, farm.L4TCP, farm.NATMasquerade, false, 80)
	s.Apply(append(farms, f)...)
	if got := s.Ask("tcp", netip.Addr{}, s.VIP4+":80"); got.Server != "b1" {
		t.Errorf("%+v", got)
	}
}

func TestAClientOfTCPAndUDPHasOneBackend(t *testing.T) {
	l4test.NewSite(t, 2).TCPAndUDPStayTogether()
}
