package api

import (
	"net"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// DownInterface names the interface of this machine that has an address and is down.
func DownInterface(addr netip.Addr) (name string) {
	all, err := net.Interfaces()
	if err != nil {
		return "" // unknown
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || !slices.ContainsFunc(addrs, func(a net.Addr) bool {
			p, ok := a.(*net.IPNet)
			return ok && p.IP.Equal(addr.AsSlice())
		}) {
			continue
		}
		if i.Flags&net.FlagUp != 0 {
			return "" // also on an interface that is up
		}
		name = i.Name
	}
	return name
}

// LocalAddrs lists the addresses of this machine.
func LocalAddrs() []netip.Addr {
	var out []netip.Addr
	for _, p := range validate.SystemPrefixes() {
		out = append(out, p.Addr())
	}
	return out
}

// Interfaces returns the names of this machine's interfaces.
func Interfaces() (names []string) {
	list, _ := net.Interfaces() // empty if unknown
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}
