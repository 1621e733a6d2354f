package announce

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

var mac = net.HardwareAddr{2, 0, 0, 0, 0, 0x10}

func TestBothFormsOfGratuitousARP(t *testing.T) {
	all, err := frames(netip.MustParseAddr("192.0.2.1"), mac, false)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d frames, %v", len(all), err)
	}
	for i, operation := range []uint16{layers.ARPRequest, layers.ARPReply} {
		p := gopacket.NewPacket(all[i], layers.LayerTypeEthernet, gopacket.Default)
		eth, _ := p.LinkLayer().(*layers.Ethernet)
		a, _ := p.Layer(layers.LayerTypeARP).(*layers.ARP)
		if eth == nil || a == nil || p.ErrorLayer() != nil {
			t.Fatalf("frame %d: %v", i, p)
		}
		if eth.SrcMAC.String() != mac.String() || eth.DstMAC.String() != everyone.String() {
			t.Errorf("frame %d goes from %s to %s", i, eth.SrcMAC, eth.DstMAC)
		}
		vip := net.IP{192, 0, 2, 1}
		if a.Operation != operation || !vip.Equal(a.SourceProtAddress) || !vip.Equal(a.DstProtAddress) || net.HardwareAddr(a.SourceHwAddress).String() != mac.String() {
			t.Errorf("frame %d: %+v", i, a)
		}
	}
}

func TestAdvertisementReplacesWhatNeighboursKnow(t *testing.T) {
	for _, router := range []bool{false, true} {
		all, err := frames(netip.MustParseAddr("2001:db8::1"), mac, router)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d frames, %v", len(all), err)
		}
		p := gopacket.NewPacket(all[0], layers.LayerTypeEthernet, gopacket.Default)
		ip, _ := p.NetworkLayer().(*layers.IPv6)
		na, _ := p.Layer(layers.LayerTypeICMPv6NeighborAdvertisement).(*layers.ICMPv6NeighborAdvertisement)
		if ip == nil || na == nil || p.ErrorLayer() != nil {
			t.Fatal(p)
		}
		if ip.HopLimit != 255 || ip.SrcIP.String() != "2001:db8::1" || ip.DstIP.String() != "ff02::1" || p.LinkLayer().(*layers.Ethernet).DstMAC.String() != "33:33:00:00:00:01" {
			t.Errorf("%+v", ip)
		}
		if na.Router() != router || na.Solicited() || !na.Override() || na.TargetAddress.String() != "2001:db8::1" || len(na.Options) != 1 || net.HardwareAddr(na.Options[0].Data).String() != mac.String() {
			t.Errorf("%+v", na)
		}
	}
}

func TestInterfaceWithoutMACCannotAnnounce(t *testing.T) {
	if _, err := frames(netip.MustParseAddr("192.0.2.1"), nil, false); err == nil {
		t.Error("frames without a MAC were made")
	}
}
