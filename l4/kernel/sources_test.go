package kernel_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Where no source is rewritten no chain asks for it, and connections do not
// notice it come and go.
func TestTheChainForSourcesIsThereWhileAFarmNeedsIt(t *testing.T) {
	for _, six := range []bool{false, true} {
		s := newSite(t, 1)
		plain := s.l4(1, farm.L4TCP, farm.NATTarget, six, 80)
		masqueraded := s.l4(2, farm.L4TCP, farm.NATMasquerade, six, 81)
		client, appliance := netip.MustParseAddr("10.10.1.2"), netip.MustParseAddr(housetest.ApplianceBack4)
		if six {
			client, appliance = netip.MustParseAddr("fd00:1::2"), netip.MustParseAddr(housetest.ApplianceBack6)
		}
		there := func() bool { return strings.Contains(s.Appliance.Run("nft", "list", "ruleset"), "chain postrouting") }
		from := func(f farm.Farm) netip.Addr {
			t.Helper()
			return s.ask("tcp", client, netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()).From.Addr()
		}
		s.apply(plain)
		if got := from(plain); got != client || there() {
			t.Errorf("alone: the backend saw %s; a chain for sources: %v", got, there())
		}
		kept, err := s.Client.Ask("tcp", netip.AddrPortFrom(client, 0), netip.AddrPortFrom(plain.VIP, 80).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(kept.Close)
		for range 2 {
			s.apply(plain, masqueraded)
			if a, b := from(plain), from(masqueraded); a != client || b != appliance || !there() {
				t.Errorf("beside one with nat: the backend saw %s and %s; a chain for sources: %v", a, b, there())
			}
			if err := kept.Again("beside"); err != nil {
				t.Error(err)
			}
			s.apply(plain)
			if got := from(plain); got != client || there() {
				t.Errorf("alone again: the backend saw %s; a chain for sources: %v", got, there())
			}
			if err := kept.Again("alone"); err != nil {
				t.Error(err)
			}
		}
	}
}

// A farm nobody can serve refuses, with no other rule that has connections
// tracked.
func TestAFarmWithoutBackendsRefusesWhenItIsAlone(t *testing.T) {
	s := newSite(t, 1)
	s.Appliance.Server("appliance", 80)
	f := s.l4(1, farm.L4TCP, farm.NATTarget, false, 80)
	f.L4.Backends = nil
	s.apply(f)
	if a, err := s.Client.Ask("tcp", netip.AddrPort{}, s.vip4+":80"); err == nil {
		t.Errorf("answered by %s", a.Server)
		a.Close()
	}
}
