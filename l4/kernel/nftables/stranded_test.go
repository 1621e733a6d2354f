package nftables_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// TCP connections to a backend that is down continue until they are cut, as in other modes.
// New ones, even from the same port, go to another backend.
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
				for _, all := range []bool{false, true} { // one backend is down, or all
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

// Associations of SCTP stay with a backend that is down, as connections of TCP do, and a
// new one from the same port goes to another backend.
func TestAssociationsOfSCTPOutliveAFailedCheckInPacketModes(t *testing.T) {
	const dataChunk = 0
	s := newPacketSite(t, 2)
	for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
		for _, protocol := range []farm.L4Protocol{farm.L4SCTP, farm.L4All} {
			eachFamily(t, func(t *testing.T, six bool) {
				s.t, s.down, s.cut, s.flushed = t, nil, nil, nil
				ports := []farm.PortRange{one(80)}
				if protocol == farm.L4All {
					ports = nil
				}
				f := s.farm(7, nat, protocol, six, ports...)
				f.L4.Algorithm = farm.L4RoundRobin
				s.Apply(f)
				a, b := f.L4.Backends[0].ID, f.L4.Backends[1].ID
				was := [2]int{s.forth(a), s.forth(b)}
				expect := func(what string, chunk byte, first, second int) {
					t.Helper()
					s.sendSCTP(six, f.VIP, chunk)
					l4test.Eventually(t, what, func() bool { return s.forth(a)+s.forth(b) == was[0]+was[1]+1 })
					if now := [2]int{s.forth(a), s.forth(b)}; now != [2]int{was[0] + first, was[1] + second} {
						t.Errorf("%s %s, %s: packets to the backends: %v, before %v", nat, protocol, what, now, was)
					} else {
						was = now
					}
				}
				expect("an association begins", initChunk, 1, 0)
				expect("it goes on", dataChunk, 1, 0)
				s.down = map[uint32]bool{a: true}
				s.Apply(f)
				was = [2]int{s.forth(a), s.forth(b)}
				expect("its backend is down", dataChunk, 1, 0)
				expect("a new one begins", initChunk, 0, 1)
				expect("the new one goes on", dataChunk, 0, 1)
			})
		}
	}
}

// forth returns the number of packets that were sent to a backend.
func (s *packetSite) forth(backend uint32) (n int) {
	s.t.Helper()
	text := s.Appliance.Run("nft", "list", "set", "netdev", "sluice", "forth")
	if _, after, is := strings.Cut(text, rules.MarkText(backend)+" counter packets "); is {
		if _, err := fmt.Sscan(after, &n); err != nil {
			s.t.Fatal(err)
		}
	}
	return n
}

// sendSCTP sends a packet with a chunk of that type and no value to port 80 (RFC 9260 §3).
func (s *packetSite) sendSCTP(six bool, to netip.Addr, chunk byte) {
	s.t.Helper()
	network := "ip4:132"
	if six {
		network = "ip6:132"
	}
	c, err := s.Client.DialWith(s.t.Context(), &net.Dialer{}, network, to.String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte{0x1b, 0x58, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, chunk, 0, 0, 4}); err != nil {
		s.t.Fatal(err)
	}
}

// Datagrams of a flow leave a backend that is down.
func TestUDPFlowsLeaveADownBackendInPacketModes(t *testing.T) {
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
