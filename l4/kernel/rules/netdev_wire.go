package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/neigh"
)

// Wire tells where on the wire things are: packets of these farms pass by the
// routing of the kernel.
type Wire interface {
	// NextHop says how a backend is reached; false while that is being found out.
	NextHop(addr netip.Addr) (neigh.NextHop, bool)
	// Devices are the interfaces packets for a VIP may arrive by; none when this
	// machine does not have it.
	Devices(vip netip.Addr) []string
}

// Warnings are the backends that get nothing though their farm is carried, by
// farm ID, in sentences for people: nobody knows where they are.
func Warnings(in *Input) map[uint32][]string {
	out := map[uint32][]string{}
	for i := range in.Farms {
		f := &in.Farms[i]
		if f.Stopped || !f.InKernel() || Home(f.L4.NAT) != Netdev() || in.Wire == nil {
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

// Unreached says why packets cannot be put on the wire to the backend; empty
// when they can.
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

// quoted is an interface's name as nft takes it, which knows no escapes.
func quoted(device string) string { return `"` + device + `"` }

// Nameable reports whether nft can be told of an interface: the kernel lets
// names have any character but blanks, colons and slashes.
func Nameable(device string) bool {
	return !strings.ContainsFunc(device, func(r rune) bool { return r == '"' || r < ' ' || r == 0x7f })
}

// plainName is an interface's name as part of a chain's; several may look alike
// no more than by their unusual characters, so those are written as numbers.
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
