package icmprelay

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// hops is a Wire with fixed next hops.
type hops map[netip.Addr]neigh.NextHop

func (p hops) NextHop(a netip.Addr) (neigh.NextHop, bool) { hop, ok := p[a]; return hop, ok }
func (p hops) Devices(netip.Addr) []string                { return []string{"eth0"} }

var (
	testVIP    = netip.MustParseAddr("192.0.2.200")
	testClient = netip.MustParseAddrPort("198.51.100.7:4000")
	testServer = netip.MustParseAddr("192.0.2.11")
)

// packets returns a farm of a packet mode with one backend.
func packets(id uint32, nat farm.NATType, protocol farm.L4Protocol, ports ...farm.PortRange) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.NAT, l.Protocol, l.Ports, l.DataPath = id, nat, protocol, ports, farm.DataPathKernel
	l.Backends = []farm.Backend{{ID: 1000 + id, Host: testServer.String(), Addr: testServer}}
	return farm.Farm{ID: id, Name: fmt.Sprintf("farm%d", id), Profile: farm.ProfileL4, VIP: testVIP, L4: l}
}

// onWire holds the next hop of testServer.
var onWire = hops{testServer: {Addr: testServer, MAC: neigh.MAC{2, 0, 0, 0, 0, 1}, Interface: "eth0", Index: 3, Own: neigh.MAC{2, 0, 0, 0, 0, 2}}}

// following returns the index of a relay with these farms.
func following(t *testing.T, farms ...farm.Farm) *index {
	t.Helper()
	r := New(slog.New(slog.DiscardHandler))
	r.Follow(farms, nil, onWire)
	if !r.wanted() {
		t.Fatal("it does not listen")
	}
	return r.farms.Load()
}

// errorAbout returns an error about a packet sent to a client from a port of the VIP.
func errorAbout(port uint16) *icmp.Message {
	return &icmp.Message{From: testServer, To: testVIP, Protocol: icmp.TCP, Src: netip.AddrPortFrom(testVIP, port), Dst: testClient}
}

// parsed returns an error of a router or host about a datagram.
func parsed(t *testing.T, from, to string, src, dst netip.AddrPort) *icmp.Message {
	t.Helper()
	head := func(from, to netip.Addr, p layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: 64, Protocol: p, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	}
	quoted := head(src.Addr(), dst.Addr(), layers.IPProtocolUDP)
	u := &layers.UDP{SrcPort: layers.UDPPort(src.Port()), DstPort: layers.UDPPort(dst.Port())}
	_ = u.SetNetworkLayerForChecksum(quoted)
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		head(netip.MustParseAddr(from), netip.MustParseAddr(to), layers.IPProtocolICMPv4),
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 4), Seq: 1280}, quoted, u, gopacket.Payload("too long")); err != nil {
		t.Fatal(err)
	}
	m, ok := icmp.Parse(b.Bytes())
	if !ok {
		t.Fatal("the built message does not parse as an error")
	}
	return m
}

// markOf returns the mark of a backend in the form maps store it.
func markOf(backend uint32) []byte {
	return binary.NativeEndian.AppendUint32(nil, rules.Mark(backend))
}

func TestErrorsFindTheMostPreciseFarmOfMany(t *testing.T) {
	var farms []farm.Farm
	for i := range 500 {
		port := uint16(1000 + i)
		farms = append(farms, packets(uint32(10+i), farm.NATDirect, farm.L4TCP, farm.PortRange{First: port, Last: port}))
	}
	farms = append(farms, packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 1500, Last: 1600}),
		packets(2, farm.NATDirect, farm.L4All), packets(3, farm.NATDirect, farm.L4UDP, farm.PortRange{First: 1400, Last: 1400}), packets(5, farm.NATDirect, farm.L4TCP))
	stopped := packets(4, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 1700, Last: 1700})
	stopped.Stopped = true
	x := following(t, append(farms, stopped)...)
	for port, want := range map[uint16][]uint32{1400: {410, 5, 2}, 1550: {1, 5, 2}, 1700: {5, 2}} {
		for n := range want { // the flow belongs to the n-th farm tried
			var asked []string
			_, ok := x.relayed(errorAbout(port), func(id nft.ID, _ []byte) ([]byte, bool, error) {
				asked = append(asked, id.Name)
				if len(asked) <= n {
					return nil, false, nil
				}
				return markOf(1000 + want[n]), true, nil
			})
			var names []string
			for i := range farms {
				if slices.Contains(want[:n+1], farms[i].ID) {
					names = append(names, rules.Flows(&farms[i]).Name)
				}
			}
			slices.Sort(names)
			if slices.Sort(asked); !ok || !slices.Equal(asked, names) {
				t.Errorf("port %d: %v, lookups in %v, want %v", port, ok, asked, names)
			}
		}
	}
	if _, ok := x.relayed(errorAbout(1400), func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1411), true, nil }); ok {
		t.Error("a flow names a backend of another farm")
	}
}

func TestUnrelatedErrorsAreIgnored(t *testing.T) {
	x := following(t, packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 80, Last: 80}))
	other := errorAbout(80)
	other.To = netip.MustParseAddr("192.0.2.201")
	for _, m := range []*icmp.Message{other, errorAbout(81)} {
		if _, ok := x.relayed(m, func(nft.ID, []byte) ([]byte, bool, error) { t.Error("a flow is looked for"); return nil, false, nil }); ok {
			t.Error("an unrelated error is relayed")
		}
	}
}

func TestErrorsForUncarriedFarmsAreIgnored(t *testing.T) {
	f := packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 80, Last: 80})
	r := New(slog.New(slog.DiscardHandler))
	flow := func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1001), true, nil }
	r.Follow([]farm.Farm{f}, nil, onWire)
	if e, ok := r.farms.Load().relayed(errorAbout(80), flow); !ok || e.hop.Index != 3 {
		t.Errorf("of a farm that is carried: %v, %+v", ok, e)
	}
	r.Follow([]farm.Farm{f}, map[uint32]string{1: "refused"}, onWire)
	if _, ok := r.farms.Load().relayed(errorAbout(80), flow); ok {
		t.Error("a farm with a problem is used")
	}
	r.Follow([]farm.Farm{f}, nil, hops{})
	if _, ok := r.farms.Load().relayed(errorAbout(80), flow); ok {
		t.Error("an error is relayed without a known next hop")
	}
	r.Follow(nil, nil, nil)
	if r.wanted() {
		t.Error("it listens without a farm")
	}
}

// An error for a backend contains the packet the backend sent, with its own port if it has
// one.
func TestBackendErrorsQuoteTheirOwnPacket(t *testing.T) {
	flow := func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1001), true, nil }
	for _, c := range []struct {
		nat  farm.NATType
		port uint16
		want string
	}{
		{farm.NATDirect, 0, "192.0.2.200:80"}, {farm.NATDirect, 8080, "192.0.2.200:80"},
		{farm.NATStateless, 0, "192.0.2.11:80"}, {farm.NATStateless, 8080, "192.0.2.11:8080"},
	} {
		f := packets(1, c.nat, farm.L4UDP, farm.PortRange{First: 80, Last: 80})
		f.L4.Backends[0].Port = c.port
		m := parsed(t, "203.0.113.1", testVIP.String(), netip.AddrPortFrom(testVIP, 80), testClient)
		e, ok := following(t, f).relayed(m, flow)
		if !ok {
			t.Errorf("%s: the error is not relayed", c.nat)
			continue
		}
		got, _ := icmp.Parse(e.packet)
		if got.Src.String() != c.want || got.Dst != testClient || got.From != m.From || e.hop.Index != 3 {
			t.Errorf("%s, port %d: about %s to %s, from %s, put on %d", c.nat, c.port, got.Src, got.Dst, got.From, e.hop.Index)
		}
	}
}

// An error for a client contains the packet the client sent to the VIP, without the
// backend's address or port.
func TestClientErrorsQuoteTheirOwnPacket(t *testing.T) {
	server := netip.AddrPortFrom(testServer, 8080)
	for _, c := range []struct {
		name, from string
		ports      []farm.PortRange
		recorded   []byte // in the map of ports
		want, by   string
	}{
		{"of a router", "203.0.113.1", []farm.PortRange{{First: 80, Last: 80}}, nil, "192.0.2.200:80", "203.0.113.1"},
		{"of the backend", "192.0.2.11", []farm.PortRange{{First: 80, Last: 80}}, nil, "192.0.2.200:80", "192.0.2.200"},
		{"several ports", "203.0.113.1", []farm.PortRange{{First: 80, Last: 90}}, []byte{0, 85}, "192.0.2.200:85", "203.0.113.1"},
		{"a port nobody knows", "203.0.113.1", []farm.PortRange{{First: 80, Last: 90}}, nil, "", ""},
	} {
		f := packets(1, farm.NATStateless, farm.L4UDP, c.ports...)
		f.L4.Backends[0].Port = 8080
		m := parsed(t, c.from, testClient.Addr().String(), testClient, server)
		marks, _, _ := rules.Answers(m)
		e, ok := following(t, f).relayed(m, func(id nft.ID, _ []byte) ([]byte, bool, error) {
			if id == marks {
				return markOf(1001), true, nil
			}
			return c.recorded, c.recorded != nil, nil
		})
		if ok != (c.want != "") {
			t.Errorf("%s: relayed: %v", c.name, ok)
		}
		if !ok {
			continue
		}
		got, _ := icmp.Parse(e.packet)
		if got.Dst.String() != c.want || got.From.String() != c.by || got.To != testClient.Addr() || e.hop.MAC != (neigh.MAC{}) {
			t.Errorf("%s: about a packet to %s, from %s to %s, by %v", c.name, got.Dst, got.From, got.To, e.hop)
		}
	}
	f := packets(1, farm.NATDirect, farm.L4UDP, farm.PortRange{First: 80, Last: 80})
	m := parsed(t, "203.0.113.1", testClient.Addr().String(), testClient, server)
	if _, ok := following(t, f).relayed(m, func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1001), true, nil }); ok {
		t.Error("an error is rewritten for a client of a dsr farm")
	}
}

// An error is dropped if the mark in the map belongs to another farm by now.
func TestErrorsWithAMarkOfAnotherFarmAreIgnored(t *testing.T) {
	stateless := packets(1, farm.NATStateless, farm.L4UDP, farm.PortRange{First: 80, Last: 80})
	direct := packets(2, farm.NATDirect, farm.L4UDP, farm.PortRange{First: 81, Last: 81})
	elsewhere := packets(3, farm.NATStateless, farm.L4UDP, farm.PortRange{First: 82, Last: 82})
	elsewhere.L4.Backends[0].Addr = netip.MustParseAddr("192.0.2.12")
	x := following(t, stateless, direct, elsewhere)
	m := parsed(t, "203.0.113.1", testClient.Addr().String(), testClient, netip.AddrPortFrom(testServer, 80))
	for id, want := range map[uint32]bool{1001: true, 1002: false, 1003: false, 1004: false} {
		if _, ok := x.relayed(m, func(nft.ID, []byte) ([]byte, bool, error) { return markOf(id), true, nil }); ok != want {
			t.Errorf("with the mark of backend %d: relayed: got %v, want %v", id, ok, want)
		}
	}
	if _, ok := x.relayed(m, func(nft.ID, []byte) ([]byte, bool, error) { return nil, false, nil }); ok {
		t.Error("an error is relayed without a mark")
	}
}

// An error is only accepted if it is addressed to the packet's sender.
func TestErrorsMustBeAddressedToTheSender(t *testing.T) {
	x := following(t, packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 80, Last: 80}))
	m := errorAbout(80)
	m.Src = netip.AddrPortFrom(netip.MustParseAddr("192.0.2.201"), 80)
	if _, ok := x.relayed(m, func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1001), true, nil }); ok {
		t.Error("it is relayed")
	}
}

func TestRelayedErrorsAreRateLimited(t *testing.T) {
	var b budget
	at := time.Now()
	const most = 2000
	passed := func() (n int) {
		for range 3 * most {
			if b.take(at) {
				n++
			}
		}
		return n
	}
	if n := passed(); n != most {
		t.Errorf("in the first second: got %d, want %d", n, most)
	}
	at = at.Add(time.Second - 1)
	if n := passed(); n != 0 {
		t.Errorf("before it is over: %d more", n)
	}
	at = at.Add(1)
	if n := passed(); n != most {
		t.Errorf("in the next second: got %d, want %d", n, most)
	}
}
