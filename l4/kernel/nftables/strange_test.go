package nftables_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/core/farm"
)

// strange is an unusual datagram to a farm.
type strange struct {
	name   string
	six    bool
	layers func(eth *layers.Ethernet, ip gopacket.SerializableLayer, udp *layers.UDP) []gopacket.SerializableLayer
	raw    bool // checksums are not computed
}

var strangers = []strange{
	{"as usual", false, plainLayers, false},
	{"as usual", true, plainLayers, false},
	{"without a checksum", false, func(e *layers.Ethernet, ip gopacket.SerializableLayer, u *layers.UDP) []gopacket.SerializableLayer {
		// The header checksum is valid, UDP has none (RFC 768).
		head := ip.(*layers.IPv4)
		head.Length = 20 + 8 + 5
		head.Checksum = headSum(head)
		return []gopacket.SerializableLayer{e, head, u}
	}, true},
	{"priority tag of VLANs", false, func(e *layers.Ethernet, ip gopacket.SerializableLayer, u *layers.UDP) []gopacket.SerializableLayer {
		tag := &layers.Dot1Q{Priority: 5, Type: e.EthernetType}
		e.EthernetType = layers.EthernetTypeDot1Q
		return []gopacket.SerializableLayer{e, tag, ip, u}
	}, false},
	{"options of IP", false, func(e *layers.Ethernet, ip gopacket.SerializableLayer, u *layers.UDP) []gopacket.SerializableLayer {
		ip.(*layers.IPv4).Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 0}}
		return []gopacket.SerializableLayer{e, ip, u}
	}, false},
	{"little time to live, and ECN", false, func(e *layers.Ethernet, ip gopacket.SerializableLayer, u *layers.UDP) []gopacket.SerializableLayer {
		ip.(*layers.IPv4).TTL, ip.(*layers.IPv4).TOS = 2, 3
		return []gopacket.SerializableLayer{e, ip, u}
	}, false},
	{"an extension header", true, func(e *layers.Ethernet, ip gopacket.SerializableLayer, u *layers.UDP) []gopacket.SerializableLayer {
		ip.(*layers.IPv6).NextHeader = layers.IPProtocolIPv6Destination
		options := gopacket.Payload([]byte{byte(layers.IPProtocolUDP), 0, 1, 4, 0, 0, 0, 0}) // PadN
		return []gopacket.SerializableLayer{e, ip, options, u}
	}, false},
}

func plainLayers(e *layers.Ethernet, ip gopacket.SerializableLayer, u *layers.UDP) []gopacket.SerializableLayer {
	return []gopacket.SerializableLayer{e, ip, u}
}

// headSum returns the checksum of an IPv4 header without options.
func headSum(ip *layers.IPv4) uint16 {
	b := gopacket.NewSerializeBuffer()
	copyOf := *ip
	_ = gopacket.SerializeLayers(b, gopacket.SerializeOptions{ComputeChecksums: true}, &copyOf)
	return copyOf.Checksum
}

// send sends the datagram from the client's address and port to the farm.
func (x strange) send(s *packetSite, from, to netip.AddrPort) {
	eth := &layers.Ethernet{SrcMAC: s.ClientLinks[0].MAC, DstMAC: s.FrontLink.MAC, EthernetType: layers.EthernetTypeIPv4}
	udp := &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port()), Length: 13}
	var ip gopacket.SerializableLayer
	if x.six {
		eth.EthernetType = layers.EthernetTypeIPv6
		l := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: net.IP(from.Addr().AsSlice()), DstIP: net.IP(to.Addr().AsSlice())}
		_ = udp.SetNetworkLayerForChecksum(l)
		ip = l
	} else {
		l := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Id: 7, Protocol: layers.IPProtocolUDP, SrcIP: net.IP(from.Addr().AsSlice()), DstIP: net.IP(to.Addr().AsSlice())}
		_ = udp.SetNetworkLayerForChecksum(l)
		ip = l
	}
	s.ClientLinks[0].Send(!x.raw, append(x.layers(eth, ip, udp), gopacket.Payload("hello"))...)
}

func TestStrangeDatagramsArriveInEveryMode(t *testing.T) {
	s := newPacketSite(t, 1)
	for _, nat := range farm.NATTypes() {
		port, machine := uint16(9999), s.Backends[0]
		if nat == farm.NATDirect {
			port, machine = 90, s.Direct[0]
		}
		c := machine.ListenPacket("udp", fmt.Sprintf("[::]:%d", port))
		for i, x := range strangers {
			t.Run(fmt.Sprintf("%s/%s/%v", nat, x.name, x.six), func(t *testing.T) {
				s.t = t
				f := s.farm(7, nat, farm.L4UDP, x.six, one(90))
				f.L4.DataPath = farm.DataPathKernel
				if nat != farm.NATDirect {
					f.L4.Backends[0].Port = port
				}
				s.Apply(f)
				from := netip.MustParseAddr("10.10.1.2")
				if x.six {
					from = netip.MustParseAddr("fd00:1::2")
				}
				x.send(s, netip.AddrPortFrom(from, uint16(6000+i)), netip.AddrPortFrom(f.VIP, 90))
				b := make([]byte, 100)
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				n, peer, err := c.ReadFrom(b)
				if err != nil || string(b[:n]) != "hello" {
					t.Fatalf("the backend got %q, %v", b[:n], err)
				}
				if _, err := c.WriteTo([]byte("and back"), peer); err != nil {
					t.Error(err)
				}
			})
		}
		_ = c.Close()
	}
}
