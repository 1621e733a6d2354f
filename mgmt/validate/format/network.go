package format

import (
	"net/netip"
	"strings"
)

// ParseNetwork parses an address or a network and clears host bits.
func ParseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

// NetworkText formats a network for bodies and documents; a single address has no prefix
// length.
func NetworkText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// Network accepts an address or a network.
func Network(s string) string {
	p, err := ParseNetwork(s)
	switch {
	case err != nil:
		return "it is neither an address nor a network as 192.0.2.0/24"
	case strings.Contains(s, "%"):
		return "addresses with a zone are not supported"
	case p.Addr().Is4In6():
		return "write the IPv4 address itself"
	}
	return ""
}

// CanonNetwork converts a network into normal form.
func CanonNetwork(s string) string {
	p, err := ParseNetwork(s)
	if err != nil {
		return s
	}
	return NetworkText(p)
}
