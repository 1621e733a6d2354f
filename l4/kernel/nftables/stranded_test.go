package nftables_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Datagrams of a flow leave a backend that is down.
func TestFlowsOfUDPLeaveABackendThatIsDownInPacketModes(t *testing.T) {
	s := newPacketSite(t, 2)
	for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
		for _, protocol := range []farm.L4Protocol{farm.L4UDP, farm.L4TCPUDP} {
			eachFamily(t, func(t *testing.T, six bool) {
				s.t, s.down = t, nil
				f := s.farm(7, nat, protocol, six, one(80))
				f.L4.Algorithm = farm.L4RoundRobin
				s.Apply(f)
				a := s.Ask("udp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80))
				first := a.Server
				s.down = map[uint32]bool{f.L4.Backends[first[1]-'1'].ID: true}
				s.Apply(f)
				if err := a.Again("next"); err != nil || a.Server == first {
					t.Errorf("%s %s: %v, still at %s, which is down", nat, protocol, err, first)
				}
			})
		}
	}
}
