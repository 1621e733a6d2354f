package host

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/fieldtest"
	"github.com/sluicelb/sluice/sysnet/firewall"
)

func TestHostNeedsFollowThePacketPath(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	of := func(nat farm.NATType, vip netip.Addr) farm.Farm {
		l := farm.DefaultL4()
		l.Protocol = farm.L4TCP
		l.NAT, l.DataPath, l.Ports = nat, farm.DataPathKernel, []farm.PortRange{{First: 80, Last: 80}}
		return farm.Farm{ID: 1, Profile: farm.ProfileL4, VIP: vip, L4: l}
	}
	transparent := func(vip netip.Addr) farm.Farm {
		f := of(farm.NATTarget, vip)
		f.L4.DataPath, f.L4.Protocol, f.L4.Persist = farm.DataPathUserspace, farm.L4TCP, farm.L4PersistNone
		return f
	}
	nat4, stateless6 := []firewall.Packets{{Protocol: "tcp"}}, []firewall.Packets{{Marked: true, V6: true, Protocol: "tcp"}}
	mapped := netip.AddrFrom16(four.As16())
	for name, c := range map[string]struct {
		farms []farm.Farm
		want  need
	}{
		"nothing":           {nil, need{}},
		"dsr":               {[]farm.Farm{of(farm.NATDirect, four)}, need{addresses: []netip.Addr{four}}},
		"stateless":         {[]farm.Farm{of(farm.NATStateless, six)}, need{v6: true, packets: stateless6, addresses: []netip.Addr{six}}},
		"nat":               {[]farm.Farm{of(farm.NATMasquerade, mapped)}, need{v4: true, packets: nat4, addresses: []netip.Addr{four}}},
		"dnat, both":        {[]farm.Farm{of(farm.NATTarget, four), of(farm.NATTarget, six)}, need{v4: true, v6: true, packets: []firewall.Packets{nat4[0], {V6: true, Protocol: "tcp"}}, addresses: []netip.Addr{four, six}}},
		"transparent":       {[]farm.Farm{transparent(four)}, need{local4: true}},
		"transparent, IPv6": {[]farm.Farm{transparent(six)}, need{local6: true}},
		"one after the other": {[]farm.Farm{transparent(six), of(farm.NATStateless, four), transparent(four), of(farm.NATDirect, six)},
			need{v4: true, packets: []firewall.Packets{{Marked: true, Protocol: "tcp"}}, local4: true, local6: true, addresses: []netip.Addr{four, six}}},
	} {
		got := needOf(new(farm.Memo[demand]).Of(c.farms, demandOf))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got.forwards() != (c.want.v4 || c.want.v6) || (len(got.settings()) > 0) != got.forwards() {
			t.Errorf("%s: forwards %v, sets %v", name, got.forwards(), got.settings())
		}
		if want := (firewall.Need{Mark: 0x5c000000, Mask: 0xff000000, Packets: got.packets}); !reflect.DeepEqual(got.firewall(), want) {
			t.Errorf("%s: of firewalls %+v", name, got.firewall())
		}
	}
	one := need{true, true, nat4, true, true, []netip.Addr{four}}
	for _, other := range []need{{false, true, nat4, true, true, nil}, {true, false, nat4, true, true, nil}, {true, true, stateless6, true, true, nil},
		{true, true, nat4, false, true, nil}, {true, true, nat4, true, false, nil}} {
		if one.same(other) {
			t.Errorf("%+v is the same as %+v", other, one)
		}
	}
	if !one.same(need{true, true, nat4, true, true, nil}) {
		t.Error("addresses are not only announced")
	}
}

func TestNeedSameCoversEveryFieldExceptAddresses(t *testing.T) {
	(&fieldtest.Comparison[need]{Equal: func(a, b *need) bool { return a.same(*b) }, Ignored: []string{"addresses"}}).Check(t)
}
