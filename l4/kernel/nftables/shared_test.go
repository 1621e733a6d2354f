package nftables_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

func TestHairpinAndLocalBackendsWork(t *testing.T) {
	s := l4test.NewSite(t, 2)
	s.Appliance.Server("appliance", 8080)
	for _, six := range []bool{false, true} {
		hairpin := s.Farm(1, farm.L4TCP, farm.NATMasquerade, six, 80)
		hairpin.L4.Algorithm = farm.L4RoundRobin
		datagrams := s.Farm(2, farm.L4UDP, farm.NATMasquerade, six, 80)
		datagrams.L4.Algorithm = farm.L4RoundRobin
		own := s.Farm(3, farm.L4TCP, farm.NATTarget, six, 81)
		own.L4.Backends = own.L4.Backends[:1]
		own.L4.Backends[0].Addr = netip.MustParseAddr(housetest.ApplianceBack4)
		if six {
			own.L4.Backends[0].Addr = netip.MustParseAddr(housetest.ApplianceBack6)
		}
		masqueraded := own
		masqueraded.ID, masqueraded.L4 = 4, clone(own.L4)
		masqueraded.L4.ID, masqueraded.L4.NAT, masqueraded.L4.Ports = 4, farm.NATMasquerade, []farm.PortRange{one(82)}
		masqueraded.L4.Backends[0].ID = 40
		s.Apply(hairpin, datagrams, own, masqueraded)
		for _, network := range []string{"tcp", "udp"} {
			for _, b := range s.Backends { // each sends a request and gets its own reply
				got := map[string]int{}
				for range 4 {
					a, err := b.Ask(network, netip.AddrPort{}, netip.AddrPortFrom(hairpin.VIP, 80).String())
					if err != nil {
						t.Fatalf("%s asks by %s: %v", b.Name, network, err)
					}
					got[a.Server]++
					a.Close()
				}
				if got["b1"] != 2 || got["b2"] != 2 {
					t.Errorf("%s asks by %s: %v", b.Name, network, got)
				}
			}
		}
		for _, port := range []uint16{81, 82} {
			for _, from := range []*housetest.Namespace{s.Client, s.Backends[0].Namespace, s.Appliance} {
				a, err := from.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(own.VIP, port).String())
				if err != nil {
					t.Errorf("%s asks port %d: %v", from.Name, port, err)
					continue
				}
				if a.Server != "appliance" {
					t.Errorf("%s asks port %d: %+v", from.Name, port, a.Seen)
				}
				a.Close()
			}
		}
	}
}

func TestFarmsOfDifferentModesShareAVIP(t *testing.T) {
	s := newPacketSite(t, 2)
	gateways(s)
	for _, six := range []bool{false, true} {
		for _, nats := range [][2]farm.NATType{{farm.NATDirect, farm.NATStateless}, {farm.NATStateless, farm.NATMasquerade}, {farm.NATTarget, farm.NATDirect}, {farm.NATStateless, farm.NATStateless}} {
			exact := s.farm(1, nats[0], farm.L4TCP, six, one(80))
			wide := s.farm(2, nats[1], farm.L4TCP, six, farm.PortRange{First: 81, Last: 90})
			datagrams := s.farm(3, nats[1], farm.L4UDP, six, one(80))
			for _, f := range []*farm.Farm{&exact, &wide, &datagrams} {
				f.L4.DataPath = farm.DataPathKernel
			}
			exact.L4.Backends, wide.L4.Backends, datagrams.L4.Backends = exact.L4.Backends[:1], wide.L4.Backends[1:], datagrams.L4.Backends[1:]
			s.Apply(exact, wide, datagrams)
			for _, c := range []struct {
				network string
				port    uint16
				by      string
			}{{"tcp", 80, "1"}, {"tcp", 81, "2"}, {"udp", 80, "2"}, {"tcp", 80, "1"}} {
				a, err := s.Client.Ask(c.network, netip.AddrPort{}, netip.AddrPortFrom(exact.VIP, c.port).String())
				if err != nil {
					t.Errorf("%v %v: %s %d: %v", nats, six, c.network, c.port, err)
					continue
				}
				if a.Server[1:] != c.by {
					t.Errorf("%v %v: %s %d was answered by %s", nats, six, c.network, c.port, a.Server)
				}
				a.Close()
			}
		}
	}
}

// A backend may belong to a farm with stateless_dnat and one with nat: a client that reuses
// a port gets replies from both farms.
func TestABackendIsSharedByStatelessAndMasqueradedFarms(t *testing.T) {
	s := newPacketSite(t, 1)
	gateways(s)
	first, second := s.farm(1, farm.NATStateless, farm.L4TCP, false, one(80)), s.farm(2, farm.NATMasquerade, farm.L4TCP, false, one(81))
	for _, f := range []*farm.Farm{&first, &second} {
		f.L4.DataPath, f.L4.Backends[0].Port = farm.DataPathKernel, 8080
	}
	s.Apply(first, second)
	for n := range 4 {
		for _, port := range []uint16{80, 81, 80, 81} {
			a, err := s.Client.AskWithin(time.Second, "tcp", netip.AddrPortFrom(l4test.Source(0), uint16(45000+n)), netip.AddrPortFrom(first.VIP, port).String())
			if err != nil {
				t.Errorf("client %d, port %d: %v", n, port, err)
				continue
			}
			a.Close()
		}
	}
}
