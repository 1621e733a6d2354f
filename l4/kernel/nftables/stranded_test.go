package nftables_test

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
)

// Connections of TCP go on though their backend is said to be down, as in the other modes,
// until they are cut. New ones, also from the same port, go to another backend.
func TestConnectionsOfTCPOutliveAFailedCheckInPacketModes(t *testing.T) {
	s := newPacketSite(t, 2)
	for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
		for _, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4TCPUDP, farm.L4All} {
			eachFamily(t, func(t *testing.T, six bool) {
				s.t, s.down, s.cut, s.flushed = t, nil, nil, nil
				ports := []farm.PortRange{one(80)}
				if protocol == farm.L4All {
					ports = nil
				}
				f := s.farm(7, nat, protocol, six, ports...)
				f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, farm.L4PersistSrc
				s.Apply(f)
				to := netip.AddrPortFrom(f.VIP, 80)
				a := s.Ask("tcp", netip.AddrPort{}, to)
				first := a.Server
				for _, all := range []bool{false, true} { // one backend is down, or all are
					s.down = map[uint32]bool{}
					for i, b := range f.L4.Backends {
						s.down[b.ID] = all || i == int(first[1]-'1')
					}
					s.Apply(f)
					for range 2 {
						if err := a.Again("still there"); err != nil {
							t.Fatalf("%s %s, all down %v: %v", nat, protocol, all, err)
						}
					}
					if b, err := s.Client.Ask("tcp", netip.AddrPort{}, to.String()); all != l4test.Refused(err) || err == nil && b.Server == first {
						t.Errorf("%s %s, all down %v: a new connection: %+v, %v", nat, protocol, all, b, err)
					}
				}
				s.cut, s.flushed = s.down, map[uint32]bool{f.ID: true}
				s.Apply(f)
				if err := a.Again("cut"); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%s %s, cut: %v", nat, protocol, err)
				}
			})
		}
	}
}

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
