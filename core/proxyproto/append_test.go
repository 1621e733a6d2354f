package proxyproto_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/proxyproto"
)

func TestHeadersRoundTrip(t *testing.T) {
	tlvs := proxyproto.AppendTLV(proxyproto.AppendTLV(nil, proxyproto.TypeALPN, "h2"), proxyproto.TypeAuthority, []byte("a.test"))
	for _, c := range [][2]string{
		{"192.0.2.1:40000", "198.51.100.2:443"}, {"[2001:db8::1]:0", "[2001:db8::2]:65535"}, {"192.0.2.1:1", "[2001:db8::2]:2"}, {"192.0.2.1:10", "198.51.100.2:1000"}, {"", "192.0.2.1:1"}, {"", ""},
	} {
		for _, v := range []proxyproto.Version{proxyproto.V1, proxyproto.V2} {
			from, to := address(t, c[0]), address(t, c[1])
			b := proxyproto.Append(nil, v, from, to, tlvs)
			if !from.IsValid() {
				to = netip.AddrPort{}
			}
			o := read(b, 5)
			if o.err != nil || !o.done || o.used != len(b) || o.header.Version != v || o.header.Source != from || o.header.Destination != to {
				t.Errorf("%v by version %d: %+v of %q", c, v, o, b)
			}
		}
	}
}

func TestLineMatchesTheSpecification(t *testing.T) {
	from, to := address(t, "192.0.2.1:40000"), address(t, "198.51.100.2:0")
	if got := string(proxyproto.Append(nil, proxyproto.V1, from, to, nil)); got != "PROXY TCP4 192.0.2.1 198.51.100.2 40000 0\r\n" {
		t.Errorf("got %q, want %q", got, "PROXY TCP4 192.0.2.1 198.51.100.2 40000 0\r\n")
	}
	zone := netip.AddrPortFrom(netip.MustParseAddr("fe80::1%lo"), 1)
	if got := string(proxyproto.Append(nil, proxyproto.V1, zone, to, nil)); got != "PROXY TCP6 fe80::1 ::ffff:198.51.100.2 1 0\r\n" {
		t.Errorf("got %q, want %q", got, "PROXY TCP6 fe80::1 ::ffff:198.51.100.2 1 0\r\n")
	}
}
