package kernel

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/sysnet/addr"
)

// An interface with a name nft cannot parse is left out.
func TestPacketModesUseEthernetInterfacesWithAddresses(t *testing.T) {
	vip, link := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fe80::1")
	all := []addr.Local{
		{Addr: vip, Interface: "wg0"},
		{Addr: vip, Interface: "port1", Ethernet: true, Port: true},
		{Addr: link, Interface: "veth7", Ethernet: true},
		{Addr: netip.MustParseAddr("198.51.100.1"), Interface: "eth1", Ethernet: true},
		{Addr: link, Interface: "eth1", Ethernet: true},
	}
	for _, name := range []string{"eth0", `back\slash`, `quo"te`, "semi;{", "k\x01"} {
		all = append(all, addr.Local{Addr: vip, Interface: name, Ethernet: true})
	}
	if got, want := ethernets(all, []netip.Addr{vip}), []string{"eth1", "eth0", `back\slash`, "semi;{"}; !slices.Equal(got, want) {
		t.Errorf("interfaces %q, want %q", got, want)
	}
	if got := ethernets(all[2:3], []netip.Addr{link}); !slices.Equal(got, []string{"veth7"}) {
		t.Errorf("interfaces of a VIP of its own link: %q", got)
	}
}
