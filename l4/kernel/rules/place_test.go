package rules_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

func TestPlacesOverlapByAddressProtocolAndPort(t *testing.T) {
	place := func(addr string, protocol farm.L4Protocol, first, last uint16) rules.Place {
		ports := farm.PortRange{First: first, Last: last}
		return rules.Place{Addr: netip.MustParseAddr(addr), Protocol: protocol, PortRange: ports}
	}
	one := place("192.0.2.1", farm.L4TCP, 80, 90)
	for _, c := range []struct {
		other rules.Place
		want  bool
		text  string
	}{
		{place("192.0.2.1", farm.L4TCP, 90, 90), true, "tcp 192.0.2.1:90"},
		{place("192.0.2.1", farm.L4TCP, 91, 99), false, "tcp ports 91:99 of 192.0.2.1"},
		{place("192.0.2.1", farm.L4TCP, 1, 80), true, "tcp ports 1:80 of 192.0.2.1"},
		{place("192.0.2.1", farm.L4UDP, 80, 90), false, "udp ports 80:90 of 192.0.2.1"},
		{place("192.0.2.2", farm.L4TCP, 80, 90), false, "tcp ports 80:90 of 192.0.2.2"},
		{place("192.0.2.1", "", 1, 65535), true, "everything for 192.0.2.1"},
		{place("0.0.0.0", farm.L4TCP, 80, 80), true, "tcp port 80 of every address of IPv4"},
		{place("::", farm.L4TCP, 80, 80), false, "tcp port 80 of every address of IPv6"},
	} {
		if one.Overlaps(c.other) != c.want || c.other.Overlaps(one) != c.want || c.other.String() != c.text {
			t.Errorf("%s: overlaps %v, want %v of %q", c.other, one.Overlaps(c.other), c.want, c.text)
		}
	}
}

// Tables of other versions may have maps with other keys.
func TestForeignKeysHaveNoPlace(t *testing.T) {
	table := nft.Table{Family: "inet", Name: "sluice_3"}
	for _, set := range rules.PlaceSets(table) {
		for _, size := range []int{0, 3, 5, 15, 17, 40} {
			if p, ok := rules.PlaceOf(set, nft.Key{First: make([]byte, size), Last: make([]byte, size)}); ok {
				t.Errorf("%s: %d bytes are %s", set, size, p)
			}
		}
		if p, ok := rules.PlaceOf(set, nft.Key{First: make([]byte, 12), Last: make([]byte, 11)}); ok {
			t.Errorf("%s: ends of different lengths are %s", set, p)
		}
	}
}
