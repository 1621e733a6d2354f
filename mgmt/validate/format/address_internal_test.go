package format

import (
	"net/netip"
	"testing"
)

// The network address and the broadcast address cannot be a server's.
func TestAddressesOfWholeNetworksAreKnown(t *testing.T) {
	prefix := parsed(t, "10.0.0.5/24", "10.1.0.5/30", "10.2.0.5/31", "10.3.0.5/32", "10.4.0.0/16", "2001:db8::5/120", "0.0.0.0/0")
	for text, want := range map[string]string{
		"10.0.0.0": "it is the address of the local network 10.0.0.0/24 itself", "10.0.0.1": "", "10.0.0.254": "", "10.0.0.255": "it is the broadcast address of the local network 10.0.0.0/24",
		"10.1.0.4": "it is the address of the local network 10.1.0.4/30 itself", "10.1.0.5": "", "10.1.0.6": "", "10.1.0.7": "it is the broadcast address of the local network 10.1.0.4/30", "10.1.0.8": "",
		"10.2.0.4": "", "10.2.0.5": "", "10.3.0.5": "", "10.4.255.255": "it is the broadcast address of the local network 10.4.0.0/16", "10.4.0.255": "", "10.5.0.0": "",
		"2001:db8::": "", "2001:db8::ff": "", "255.255.255.255": "it is the broadcast address",
	} {
		addr, _ := ParseNetwork(text)
		if got := Server(addr.Addr(), prefix); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func parsed(t *testing.T, networks ...string) (out []netip.Prefix) {
	t.Helper()
	for _, text := range networks {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
