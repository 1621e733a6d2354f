package format

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
)

// HostLabel matches one label of a host name.
var HostLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?$`)
})

// VIP accepts an address that a farm can have.
func VIP(s string) string {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return "it is no address"
	case addr.Zone() != "":
		return "addresses with a zone are not supported"
	case addr.Is4In6():
		return "write the IPv4 address itself"
	case addr.IsMulticast():
		return "it is a multicast address"
	case addr == broadcast:
		return "it is the broadcast address"
	}
	return ""
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// Host accepts a unicast address or a resolvable name (RFC 1123, plus the underscore
// that occurs in practice).
func Host(s string) string {
	if addr, err := netip.ParseAddr(s); err == nil {
		return Server(addr, nil)
	}
	if len(s) > 253 {
		return "the name is longer than 253 bytes"
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for _, label := range labels {
		if !HostLabel().MatchString(label) {
			return "it is neither an address nor a host name"
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return "it is neither an address nor a host name"
	}
	return ""
}

// Server rejects addresses that no server can have. local lists the addresses of
// this machine with their networks.
func Server(addr netip.Addr, local []netip.Prefix) string {
	switch {
	case addr.Zone() != "":
		return "addresses with a zone are not supported"
	case addr.Is4In6():
		return "write the IPv4 address itself"
	case addr.IsUnspecified():
		return "it is the unspecified address"
	case addr.IsMulticast():
		return "it is a multicast address"
	case addr == broadcast:
		return "it is the broadcast address"
	}
	for _, network := range local {
		if isBroadcast(addr, network) {
			return fmt.Sprintf("it is the broadcast address of the local network %s", network.Masked())
		}
		if isNetwork(addr, network) {
			return fmt.Sprintf("it is the address of the local network %s itself", network.Masked())
		}
	}
	return ""
}

// isBroadcast reports whether addr has all host bits of network set. Networks
// of one or two addresses have no broadcast address (RFC 3021).
func isBroadcast(addr netip.Addr, network netip.Prefix) bool {
	if !addr.Is4() || !network.Contains(addr) || network.Bits() > 30 {
		return false
	}
	return !network.Contains(addr.Next())
}

// isNetwork reports whether addr has no host bits of network set, which is an obsolete form
// of the broadcast address.
func isNetwork(addr netip.Addr, network netip.Prefix) bool {
	return addr.Is4() && network.Addr().Is4() && network.Bits() <= 30 && addr == network.Masked().Addr()
}

// ServerText is Server for a text.
func ServerText(s string) string {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return "it is no address"
	}
	return Server(addr, nil)
}

// ParseAddr parses an address; an invalid one is unset.
func ParseAddr(s string) netip.Addr {
	addr, _ := netip.ParseAddr(s)
	return addr
}

// AddrText formats an address, "" if it is unset.
func AddrText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}

// CanonAddr converts an address into normal form.
func CanonAddr(s string) string { return AddrText(ParseAddr(s)) }
