package announce

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

var (
	everyone    = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	allNodes    = netip.MustParseAddr("ff02::1")
	allNodesMAC = net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
)

// frames returns the frames that announce addr at mac. IPv4 uses both forms of gratuitous
// ARP, because some equipment accepts only one (RFC 5227 §3). IPv6 uses one advertisement;
// router states whether the machine forwards IPv6, which neighbours learn from every
// advertisement (RFC 4861 §4.4).
func frames(addr netip.Addr, mac net.HardwareAddr, router bool) ([][]byte, error) {
	if len(mac) != 6 {
		return nil, fmt.Errorf("%s is no Ethernet address", mac)
	}
	if addr.Is4() {
		ask, err := arp(addr, mac, layers.ARPRequest, make(net.HardwareAddr, 6))
		if err != nil {
			return nil, err
		}
		answer, err := arp(addr, mac, layers.ARPReply, everyone)
		return [][]byte{ask, answer}, err
	}
	b, err := advertisement(addr, mac, router)
	return [][]byte{b}, err
}

// arp returns a broadcast ARP packet with addr as sender and target.
func arp(addr netip.Addr, mac net.HardwareAddr, operation uint16, target net.HardwareAddr) ([]byte, error) {
	return serialize(
		&layers.Ethernet{SrcMAC: mac, DstMAC: everyone, EthernetType: layers.EthernetTypeARP},
		&layers.ARP{
			AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
			Operation: operation, SourceHwAddress: mac, SourceProtAddress: addr.AsSlice(),
			DstHwAddress: target, DstProtAddress: addr.AsSlice(),
		})
}

// Flags of a neighbour advertisement.
const (
	flagRouter   = 0x80
	flagOverride = 0x20
)

// advertisement returns an unsolicited neighbour advertisement with the override flag.
func advertisement(addr netip.Addr, mac net.HardwareAddr, router bool) ([]byte, error) {
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: addr.AsSlice(), DstIP: allNodes.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborAdvertisement, 0)}
	if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
		return nil, err
	}
	flags := uint8(flagOverride)
	if router {
		flags |= flagRouter
	}
	return serialize(
		&layers.Ethernet{SrcMAC: mac, DstMAC: allNodesMAC, EthernetType: layers.EthernetTypeIPv6}, ip, icmp,
		&layers.ICMPv6NeighborAdvertisement{
			Flags: flags, TargetAddress: addr.AsSlice(),
			Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: mac}},
		})
}

func serialize(all ...gopacket.SerializableLayer) ([]byte, error) {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		return nil, fmt.Errorf("announcement: %w", err)
	}
	return b.Bytes(), nil
}
