package announce

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/sysnet/addr"
)

var mac = net.HardwareAddr{2, 0, 0, 0, 0, 0x10}

func TestBothFormsOfGratuitousARP(t *testing.T) {
	all, err := frames(netip.MustParseAddr("192.0.2.1"), mac, false)
	if err != nil || len(all) != 2 {
		t.Fatalf("got %d frames, %v, want 2", len(all), err)
	}
	for i, operation := range []uint16{layers.ARPRequest, layers.ARPReply} {
		p := gopacket.NewPacket(all[i], layers.LayerTypeEthernet, gopacket.Default)
		eth, _ := p.LinkLayer().(*layers.Ethernet)
		a, _ := p.Layer(layers.LayerTypeARP).(*layers.ARP)
		if eth == nil || a == nil || p.ErrorLayer() != nil {
			t.Fatalf("frame %d: %v", i, p)
		}
		if eth.SrcMAC.String() != mac.String() || eth.DstMAC.String() != everyone.String() {
			t.Errorf("frame %d is sent from %s to %s", i, eth.SrcMAC, eth.DstMAC)
		}
		if target := []string{"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"}[i]; net.HardwareAddr(a.DstHwAddress).String() != target || a.HwAddressSize != 6 || a.ProtAddressSize != 4 {
			t.Errorf("frame %d is for %+v, want %s", i, a, target)
		}
		vip := net.IP{192, 0, 2, 1}
		if a.Operation != operation || !vip.Equal(a.SourceProtAddress) || !vip.Equal(a.DstProtAddress) || net.HardwareAddr(a.SourceHwAddress).String() != mac.String() {
			t.Errorf("frame %d: %+v", i, a)
		}
	}
}

func TestAdvertisementOverridesNeighbourCaches(t *testing.T) {
	for _, router := range []bool{false, true} {
		all, err := frames(netip.MustParseAddr("2001:db8::1"), mac, router)
		if err != nil || len(all) != 1 {
			t.Fatalf("got %d frames, %v, want 1", len(all), err)
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

func TestAnnouncementDescribesItsTargetOrProblem(t *testing.T) {
	ip, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	good := addr.Local{Addr: ip, Interface: "eth0", Up: true, Usable: true, Ethernet: true}
	with := func(change func(l *addr.Local)) addr.Local {
		l := good
		l.Interface = "eth1"
		change(&l)
		return l
	}
	elsewhere := with(func(l *addr.Local) { l.Addr = other })
	down := with(func(l *addr.Local) { l.Up = false })
	taken := with(func(l *addr.Local) { l.Usable = false })
	wireless := with(func(l *addr.Local) { l.Ethernet = false })
	for _, c := range []struct {
		locals      []addr.Local
		iface, text string
		is          error
	}{
		{nil, "", "no interface of this machine has the address 192.0.2.1", addr.ErrNotLocal}, {[]addr.Local{elsewhere}, "", "no interface of this machine has the address 192.0.2.1", addr.ErrNotLocal},
		{[]addr.Local{elsewhere, good}, "eth0", "", nil}, {[]addr.Local{down, taken, wireless, good}, "eth0", "", nil}, {[]addr.Local{good, down}, "eth0", "", nil},
		{[]addr.Local{down}, "eth1", "interface eth1 is down", addr.ErrDown}, {[]addr.Local{taken}, "eth1", "another machine may have 192.0.2.1", addr.ErrDuplicate}, {[]addr.Local{wireless, elsewhere}, "eth1", "interface eth1 has no MAC address", nil},
	} {
		iface, err := where(c.locals, ip)
		if iface != c.iface || (err == nil) != (c.text == "") || err != nil && (!strings.HasPrefix(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is)) {
			t.Errorf("%+v: %q, %v; want %q, %s", c.locals, iface, err, c.iface, c.text)
		}
	}
	if all, err := frames(ip, mac[:5], false); all != nil || err == nil {
		t.Errorf("frames from half a MAC: %v, %v", all, err)
	}
}
