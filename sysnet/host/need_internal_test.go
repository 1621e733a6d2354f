package host

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/firewall"
)

func TestFarmsNeedOfTheMachineWhatTheirPacketsDo(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	of := func(nat farm.NATType, vip netip.Addr) farm.Farm {
		l := farm.DefaultL4()
		l.NAT, l.DataPath, l.Ports = nat, farm.DataPathKernel, []farm.PortRange{{First: 80, Last: 80}}
		return farm.Farm{ID: 1, Profile: farm.ProfileL4, VIP: vip, L4: l}
	}
	transparent := func(vip netip.Addr) farm.Farm {
		f := of(farm.NATTarget, vip)
		f.L4.DataPath, f.L4.Protocol, f.L4.Persist = farm.DataPathUserspace, farm.L4TCP, farm.L4PersistNone
		return f
	}
	mapped := netip.AddrFrom16(four.As16())
	for name, c := range map[string]struct {
		farms []farm.Farm
		want  need
	}{
		"nothing":           {nil, need{}},
		"dsr":               {[]farm.Farm{of(farm.NATDirect, four)}, need{addresses: []netip.Addr{four}}},
		"stateless":         {[]farm.Farm{of(farm.NATStateless, six)}, need{v6: true, marked: true, addresses: []netip.Addr{six}}},
		"nat":               {[]farm.Farm{of(farm.NATMasquerade, mapped)}, need{v4: true, tracked: true, addresses: []netip.Addr{four}}},
		"dnat, both":        {[]farm.Farm{of(farm.NATTarget, four), of(farm.NATTarget, six)}, need{v4: true, v6: true, tracked: true, addresses: []netip.Addr{four, six}}},
		"transparent":       {[]farm.Farm{transparent(four)}, need{local4: true}},
		"transparent, IPv6": {[]farm.Farm{transparent(six)}, need{local6: true}},
		"one after the other": {[]farm.Farm{transparent(six), of(farm.NATStateless, four), transparent(four), of(farm.NATDirect, six)},
			need{v4: true, marked: true, local4: true, local6: true, addresses: []netip.Addr{four, six}}},
	} {
		got := needOf(c.farms)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got.forwards() != (c.want.v4 || c.want.v6) || (len(got.settings()) > 0) != got.forwards() {
			t.Errorf("%s: forwards %v, sets %v", name, got.forwards(), got.settings())
		}
		if want := (firewall.Need{Mark: 0x5c000000, Mask: 0xff000000, Tracked: got.tracked, Marked: got.marked, V4: got.v4, V6: got.v6}); got.firewall() != want {
			t.Errorf("%s: of firewalls %+v", name, got.firewall())
		}
	}
	same := need{true, true, true, true, true, true, []netip.Addr{four}}
	for _, other := range []need{{false, true, true, true, true, true, same.addresses}, {true, false, true, true, true, true, same.addresses},
		{true, true, false, true, true, true, same.addresses}, {true, true, true, false, true, true, same.addresses},
		{true, true, true, true, false, true, same.addresses}, {true, true, true, true, true, false, same.addresses}, {true, true, true, true, true, true, nil}} {
		if same.equal(other) || !same.equal(same) {
			t.Errorf("%+v is said to be %+v", other, same)
		}
	}
}
