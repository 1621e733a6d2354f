package kernel_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// askedBoth asks a farm of TCP and UDP by turns, from one address or another, and
// says who answered whom.
func askedBoth(t *testing.T, f *farm.Farm, ask func(network string, from netip.Addr, to string) string) {
	t.Helper()
	to := netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
	used := map[string]int{}
	for i := range 4 {
		from := source(i)
		if f.VIP.Is6() {
			from = netip.MustParseAddr(fmt.Sprintf("fd00:1::%d", 100+i))
		}
		first := ask("udp", from, to)
		used[first]++
		for _, network := range []string{"tcp", "udp"} {
			if got := ask(network, from, to); got != first {
				t.Errorf("%s %s: client %d was at %s, by %s it is at %s", f.L4.NAT, f.VIP, i, first, network, got)
			}
		}
	}
	if used["b1"] != 2 || used["b2"] != 2 {
		t.Errorf("%s %s: in turn: %v", f.L4.NAT, f.VIP, used)
	}
}

// both makes farms of TCP and UDP that remember clients by their address.
func (s *site) both() (farms []farm.Farm) {
	for i, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		for j, six := range []bool{false, true} {
			f := s.l4(uint32(1+2*i+j), farm.L4TCPUDP, nat, six, uint16(53+i))
			f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, farm.L4PersistSrc
			farms = append(farms, f)
		}
	}
	return farms
}

func TestAClientOfTCPAndUDPHasOneBackendInTheKernel(t *testing.T) {
	s := newSite(t, 2)
	farms := s.both()
	s.apply(farms...)
	for i := range farms {
		askedBoth(t, &farms[i], func(network string, from netip.Addr, to string) string { return s.ask(network, from, to).Server })
	}
}

func TestIptablesCarryTCPAndUDPOfOneFarm(t *testing.T) {
	s := newSite(t, 2)
	byIptables(t, s)
	farms := s.both()
	s.apply(farms...)
	for i := range farms {
		askedBoth(t, &farms[i], func(network string, from netip.Addr, to string) string { return s.ask(network, from, to).Server })
	}
}
