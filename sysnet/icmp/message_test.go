package icmp_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/sysnet/icmp"
)

var (
	router4, vip4, client4, back4 = netip.MustParseAddr("10.0.9.1"), netip.MustParseAddr("10.0.1.200"), netip.MustParseAddr("10.0.3.7"), netip.MustParseAddr("10.0.2.11")
	router6, vip6, client6, back6 = netip.MustParseAddr("fd00:9::1"), netip.MustParseAddr("fd00:1::200"), netip.MustParseAddr("fd00:3::7"), netip.MustParseAddr("fd00:2::11")
)

func build(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(b.Bytes())
}

// about returns the quoted packet: from the VIP, port 80, to the client's port 4711.
func about(t testing.TB, six bool, protocol layers.IPProtocol) []byte {
	t.Helper()
	var network gopacket.SerializableLayer
	var sums gopacket.NetworkLayer
	if six {
		l := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: protocol, SrcIP: vip6.AsSlice(), DstIP: client6.AsSlice()}
		network, sums = l, l
	} else {
		l := &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, SrcIP: vip4.AsSlice(), DstIP: client4.AsSlice(), Flags: layers.IPv4DontFragment}
		network, sums = l, l
	}
	text := gopacket.Payload("what was too much")
	if protocol == layers.IPProtocolUDP {
		u := &layers.UDP{SrcPort: 80, DstPort: 4711}
		_ = u.SetNetworkLayerForChecksum(sums)
		return build(t, network, u, text)
	}
	tcp := &layers.TCP{SrcPort: 80, DstPort: 4711, Seq: 5, ACK: true, Window: 1000}
	_ = tcp.SetNetworkLayerForChecksum(sums)
	return build(t, network, tcp, text)
}

// tooBig returns the message of a router about a packet, with the quoted bytes.
func tooBig(t testing.TB, six bool, quoted []byte) []byte {
	t.Helper()
	if six {
		l := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6, SrcIP: router6.AsSlice(), DstIP: vip6.AsSlice()}
		i := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypePacketTooBig, 0)}
		_ = i.SetNetworkLayerForChecksum(l)
		return build(t, l, i, gopacket.Payload(append([]byte{0, 0, 5, 0}, quoted...)))
	}
	l := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: router4.AsSlice(), DstIP: vip4.AsSlice()}
	i := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 4), Seq: 1280}
	return build(t, l, i, gopacket.Payload(quoted))
}

func TestErrorIsRewrittenWithValidChecksums(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, protocol := range []layers.IPProtocol{layers.IPProtocolTCP, layers.IPProtocolUDP} {
			from, back, client, inner := router4, back4, client4, 20
			if six {
				from, back, client, inner = router6, back6, client6, 40
			}
			original := about(t, six, protocol)
			for _, quote := range []int{inner + 8, len(original)} {
				m, ok := icmp.Parse(append(tooBig(t, six, original[:quote]), 0, 0, 0)) // Ethernet padding
				if !ok {
					t.Fatalf("six %v %s: not understood", six, protocol)
				}
				if m.Src.Port() != 80 || m.Dst != netip.AddrPortFrom(client, 4711) || m.From != from || m.To != m.Src.Addr() || m.Protocol != uint8(protocol) {
					t.Errorf("read %+v", m)
				}
				out := m.Rewrite(m.From, back, netip.AddrPortFrom(back, 8080), m.Dst)
				again, ok := icmp.Parse(slices.Clone(out))
				if !ok || again.To != back || again.From != from || again.Src != netip.AddrPortFrom(back, 8080) || again.Dst != m.Dst {
					t.Errorf("six %v %s: became %+v, sums right: %v", six, protocol, again, ok)
				}
				if quote == len(original) { // only a complete quote has verifiable checksums
					checkQuoted(t, six, out)
				}
				if back := again.Rewrite(m.From, m.To, m.Src, m.Dst); !slices.Equal(back, m.Packet()) {
					t.Errorf("six %v %s: rewritten twice it is\n%x, was\n%x", six, protocol, back, m.Packet())
				}
			}
		}
	}
}

// checkQuoted verifies the checksums of the quoted packet.
func checkQuoted(t *testing.T, six bool, out []byte) {
	t.Helper()
	first, at := layers.LayerTypeIPv4, 28
	if six {
		first, at = layers.LayerTypeIPv6, 48
	}
	p := gopacket.NewPacket(out[at:], first, gopacket.Default)
	for _, layer := range p.Layers() {
		if l, ok := layer.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok {
			_ = l.SetNetworkLayerForChecksum(p.NetworkLayer())
		}
	}
	if err, wrong := p.VerifyChecksums(); err != nil || len(wrong) > 0 {
		t.Errorf("six %v: the packet that is quoted: %v %+v", six, err, wrong)
	}
}

func TestInvalidMessagesAreIgnored(t *testing.T) {
	for _, six := range []bool{false, true} {
		good := tooBig(t, six, about(t, six, layers.IPProtocolTCP))
		head := 20
		if six {
			head = 40
		}
		change := func(at int, to byte) []byte {
			b := slices.Clone(good)
			b[at] = to
			return b
		}
		for name, packet := range map[string][]byte{
			"nothing": nil, "a sum that is wrong": change(len(good)-1, 'x'), "an echo": change(head, 8), "another protocol": change(map[bool]int{false: 9, true: 6}[six], 6),
			"cut off": good[:len(good)-1], "no room for ports": tooBig(t, six, about(t, six, layers.IPProtocolTCP)[:head+3]),
			"a quote of another version": tooBig(t, six, about(t, !six, layers.IPProtocolTCP)),
		} {
			if m, ok := icmp.Parse(packet); ok {
				t.Errorf("six %v: %s was parsed as %+v", six, name, m)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, six := range []bool{false, true} {
		f.Add(tooBig(f, six, about(f, six, layers.IPProtocolTCP)))
		f.Add(tooBig(f, six, about(f, six, layers.IPProtocolUDP)))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		m, ok := icmp.Parse(packet)
		if !ok {
			return
		}
		other := netip.MustParseAddr("192.0.2.1")
		if m.To.Is6() {
			other = netip.MustParseAddr("2001:db8::1")
		}
		if len(m.Rewrite(m.From, other, netip.AddrPortFrom(other, 9), m.Dst)) != len(m.Packet()) {
			t.Error("the length has changed")
		}
	})
}
