package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/neigh"
)

// Wire finds next hops and devices: packets of these farms bypass the kernel's routing.
type Wire interface {
	// NextHop returns the next hop of a backend, or false while it is being resolved.
	NextHop(addr netip.Addr) (neigh.NextHop, bool)
	// Devices returns the interfaces on which packets for a VIP may arrive. The list is
	// empty if the VIP is on another machine.
	Devices(vip netip.Addr) []string
}

// Warnings returns readable warnings, by farm ID, about backends without packets because
// their next hop is unknown.
func Warnings(in *Input) map[uint32][]string {
	out := map[uint32][]string{}
	for i := range in.Farms {
		f := &in.Farms[i]
		if f.Stopped || in.Wire == nil || Home(f.L4.NAT) != Netdev() || !f.InKernel() {
			continue
		}
		for j := range f.L4.Backends {
			b := &f.L4.Backends[j]
			if reason := Unreached(in.Wire, f.L4.NAT, b); reason != "" {
				out[f.ID] = append(out[f.ID], "backend "+b.Host+" is not used: "+reason)
			}
		}
	}
	return out
}

// Unreached returns why packets cannot be sent to the backend, or an empty string.
func Unreached(w Wire, nat farm.NATType, b *farm.Backend) string {
	switch hop, known := w.NextHop(b.Addr.Unmap()); {
	case !known:
		return "its MAC address is being asked for"
	case hop.Problem != "":
		return hop.Problem
	case !hop.OnLink():
		return "it is behind the gateway " + hop.Gateway.String() + ", and nattype " + string(nat) + " needs it on the link"
	case hop.MAC == neigh.MAC{}:
		return "its MAC address is being asked for"
	case !Nameable(hop.Interface):
		return fmt.Sprintf("it is behind the interface %q, a name the packet filter cannot be told", hop.Interface)
	}
	return ""
}

// quoted returns an interface name in nft syntax, which has no escapes.
func quoted(device string) string { return `"` + device + `"` }

// Nameable reports whether nft can parse an interface's name: the kernel allows any
// characters except blanks, colons and slashes.
func Nameable(device string) bool {
	return !strings.ContainsFunc(device, func(r rune) bool { return r == '"' || r < ' ' || r == 0x7f })
}

// plainName returns an interface name as part of a chain name. Unusual characters are
// written as numbers, so that names stay distinct.
func plainName(device string) string {
	var b strings.Builder
	for i := range len(device) {
		switch c := device[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}
