package nftables_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// packetSite is a network whose appliance carries farms of packet modes.
type packetSite struct {
	*housetest.Site
	t          *testing.T
	run        *nft.Runner
	have       *nft.Ruleset
	vip4, vip6 string
	hops       hops
	devices    []string // where packets for VIPs may arrive, "front" if empty
	flushed    map[uint32]bool
	down, cut  map[uint32]bool // backends
}

// hops is a Wire with fixed next hops.
type hops map[netip.Addr]neigh.NextHop

func (p hops) NextHop(a netip.Addr) (neigh.NextHop, bool) { hop, ok := p[a]; return hop, ok }

func (p hops) Devices(netip.Addr) []string { return []string{"front"} }

func newPacketSite(t *testing.T, n int) *packetSite {
	t.Helper()
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	s := &packetSite{Site: housetest.Plan{Clients: 2, Sources: 40, Backends: n, Direct: n}.Build(housetest.New(t)), t: t, run: run, hops: hops{}}
	s.vip4, s.vip6 = s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	s.Appliance.Sysctl("net.ipv6.conf.all.forwarding", "1")
	for i := range n {
		s.connect(s.Backends[i], s.BackLink).Server(fmt.Sprintf("b%d", i+1), 80, 81, 8080)
		s.connect(s.Direct[i], s.FrontLink).Server(fmt.Sprintf("d%d", i+1), 80, 81, 8080)
	}
	return s
}

func (s *packetSite) connect(m *housetest.Machine, own *housetest.Link) *housetest.Machine {
	for _, a := range []string{m.V4, m.V6} {
		addr := netip.MustParseAddr(a)
		s.hops[addr] = neigh.NextHop{Addr: addr, MAC: neigh.MAC(m.Link.MAC), Interface: own.Name, Own: neigh.MAC(own.MAC)}
	}
	return m
}

// farm returns a farm of a packet mode with all backends that fit it.
func (s *packetSite) farm(id uint32, nat farm.NATType, protocol farm.L4Protocol, six bool, ports ...farm.PortRange) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.Protocol, l.NAT, l.Ports = id, protocol, nat, ports
	f := farm.Farm{ID: id, Name: fmt.Sprintf("f%d", id), Profile: farm.ProfileL4, VIP: netip.MustParseAddr(s.vip4), L4: l}
	machines := s.Backends
	if nat == farm.NATDirect {
		machines = s.Direct
	}
	if six {
		f.VIP = netip.MustParseAddr(s.vip6)
	}
	for i, m := range machines {
		addr := netip.MustParseAddr(m.V4)
		if six {
			addr = netip.MustParseAddr(m.V6)
		}
		l.Backends = append(l.Backends, farm.Backend{ID: id*10 + uint32(i), Host: addr.String(), Addr: addr})
	}
	return f
}

func (s *packetSite) wire() rules.Wire {
	if len(s.devices) == 0 {
		return s.hops
	}
	return arriving{s.hops, s.devices}
}

// arriving is a Wire with more arrival devices.
type arriving struct {
	hops
	devices []string
}

func (a arriving) Devices(netip.Addr) []string { return a.devices }

// apply makes the appliance carry the farms.
func (s *packetSite) Apply(farms ...farm.Farm) {
	s.t.Helper()
	want, problems := rules.Compile(&rules.Input{Farms: farms, Wire: s.wire(), Flushed: s.flushed, Cut: s.cut, Usable: func(id uint32) bool { return !s.down[id] }})
	for id, p := range problems {
		s.t.Fatalf("farm %d: %s", id, p)
	}
	batch := nft.Load(rules.Tables(), want, nil)
	if s.have != nil {
		if diff, ok := nft.Diff(s.have, want); ok {
			batch = diff
		}
	}
	var err error
	s.Appliance.Do(func() { err = s.run.Apply(context.Background(), batch) })
	if err != nil {
		s.t.Fatalf("%v\n%s", err, batch.Text())
	}
	s.have = want
}

func one(port uint16) farm.PortRange { return farm.PortRange{First: port, Last: port} }

func TestPacketsReachBackendsAndClients(t *testing.T) {
	s := newPacketSite(t, 2)
	for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
		for _, six := range []bool{false, true} {
			for _, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP, farm.L4TCPUDP, farm.L4All} {
				ports := []farm.PortRange{one(80)}
				if protocol == farm.L4All {
					ports = nil
				}
				t.Run(fmt.Sprintf("%s/%s/%v", nat, protocol, six), func(t *testing.T) {
					f := s.farm(7, nat, protocol, six, ports...)
					f.L4.Algorithm = farm.L4RoundRobin
					s.Apply(f)
					networks := []string{string(protocol)}
					if protocol == farm.L4All || protocol == farm.L4TCPUDP {
						networks = []string{"tcp", "udp"}
					}
					for _, network := range networks {
						got := map[string]int{}
						for range 10 {
							a, err := s.Client.Ask(network, netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80).String())
							if err != nil {
								t.Fatal(err)
							}
							if err := a.Again(strings.Repeat("x", 1000)); err != nil {
								t.Error(err)
							}
							got[a.Server]++
							if a.From != a.Local {
								t.Errorf("%s: sent from %v, seen from %v", network, a.Local, a.From)
							}
							a.Close()
						}
						if len(got) != 2 {
							t.Errorf("%s: %v", network, got)
						}
						t.Log(network, got)
					}
				})
			}
		}
	}
	if t.Failed() {
		t.Log(s.Appliance.Run("nft", "list", "ruleset"))
	}
}
