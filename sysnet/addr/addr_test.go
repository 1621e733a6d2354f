package addr_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestAddressesNeedAnActiveInterface(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Peer(t, "v0", "v1", []string{"192.0.2.1/24", "2001:db8::1/64"}, []string{"192.0.2.2/24"})
	sysnettest.IP(t, "link add d0 type veth peer name d1")
	sysnettest.IP(t, "address add 203.0.113.1/24 dev d0")
	sysnettest.IP(t, "address add 2001:db8:1::1/64 dev v0 nodad")
	for text, want := range map[string]error{
		"192.0.2.1": nil, "2001:db8::1": nil, "127.0.0.1": nil, "127.0.0.9": nil, "::1": nil, "0.0.0.0": nil, "::": nil,
		"192.0.2.2": addr.ErrNotLocal, "2001:db8::2": addr.ErrNotLocal, "203.0.113.1": addr.ErrDown,
	} {
		sysnettest.Eventually(t, func() (string, bool) { // veths tell of their carrier a moment later
			l, err := addr.Check(netip.MustParseAddr(text))
			if err != nil {
				return text + ": " + err.Error(), errors.Is(err, want)
			}
			return text + " is taken on " + l.Interface, want == nil
		})
	}
	l, err := addr.Check(netip.MustParseAddr("192.0.2.1"))
	if err != nil || l.Interface != "v0" || l.Bits != 24 || !l.Ethernet {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestAddressesThatARouteMakesLocalAreReached(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.IP(t, "link set lo up")
	sysnettest.IP(t, "address add 192.0.2.1/32 dev lo")
	sysnettest.IP(t, "route add local 198.51.100.0/24 dev lo")
	all, err := addr.List()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{"192.0.2.1": nil, "198.51.100.7": nil, "0.0.0.0": nil, "192.0.2.9": addr.ErrNotLocal, "2001:db8::9": addr.ErrNotLocal} {
		if err := addr.Reached(all, netip.MustParseAddr(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestDuplicateAddressIsRefused(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Peer(t, "v0", "v1", nil, []string{"2001:db8::1/64"})
	sysnettest.IP(t, "address add 2001:db8::1/64 dev v0")
	duplicate := netip.MustParseAddr("2001:db8::1")
	sysnettest.Eventually(t, func() (string, bool) {
		all, err := addr.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.Addr != duplicate || !l.Usable && !l.Duplicate {
				continue
			}
			if l.Usable { // the question went out before the other end could hear it
				sysnettest.IP(t, "address del 2001:db8::1/64 dev v0")
				sysnettest.IP(t, "address add 2001:db8::1/64 dev v0")
			}
			return "no duplicate was found", l.Duplicate
		}
		return "the address is being looked for", false
	})
	if _, err := addr.Check(duplicate); !errors.Is(err, addr.ErrDuplicate) {
		t.Errorf("got %v", err)
	}
}
