package proxyproto_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/proxyproto"
)

func TestOnlyTrustedPeersMaySendHeaders(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		in   farm.ProxyIn
		peer string
		want proxyproto.Expected
	}{
		{"", "192.0.2.1", proxyproto.Nothing}, {farm.ProxyInOff, "192.0.2.1", proxyproto.Nothing},
		{farm.ProxyInOptional, "192.0.2.1", proxyproto.Optional}, {farm.ProxyInOptional, "198.51.100.1", proxyproto.Nothing},
		{farm.ProxyInRequired, "2001:db8::1", proxyproto.Required}, {farm.ProxyInRequired, "198.51.100.1", proxyproto.Refused},
	} {
		if got := proxyproto.Expect(c.in, trusted, netip.MustParseAddr(c.peer)); got != c.want {
			t.Errorf("%q of %s: %d, want %d", c.in, c.peer, got, c.want)
		}
	}
}
