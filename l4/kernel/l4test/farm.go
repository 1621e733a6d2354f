// Package l4test provides layer 4 farms for tests.
package l4test

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Example returns a farm of two backends, changed by edit.
func Example(edit func(f *farm.Farm)) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.DataPath = 12, farm.DataPathKernel
	l.Ports = []farm.PortRange{{First: 80, Last: 80}}
	for i, addr := range []string{"10.0.0.1", "10.0.0.2"} {
		l.Backends = append(l.Backends, farm.Backend{ID: uint32(1 + i), Host: addr, Addr: netip.MustParseAddr(addr), Port: 8080})
	}
	f := farm.Farm{ID: 7, Name: "web", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.1"), L4: l}
	if edit != nil {
		edit(&f)
	}
	return f
}

// Six changes an example to IPv6.
func Six(f *farm.Farm) {
	f.VIP = netip.MustParseAddr("2001:db8::1")
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		b.Addr = netip.MustParseAddr([]string{"fd00::1", "fd00::2"}[i])
	}
}

// Many returns n farms of ten backends each.
func Many(n int) []farm.Farm {
	out := make([]farm.Farm, n)
	for i := range out {
		l := farm.DefaultL4()
		l.ID, l.DataPath, l.Ports = uint32(i+1), farm.DataPathKernel, []farm.PortRange{{First: 80, Last: 80}}
		for j := range 10 {
			addr := netip.AddrFrom4([4]byte{10, byte(100 + i/250), byte(i % 250), byte(j + 1)})
			l.Backends = append(l.Backends, farm.Backend{ID: uint32(i*10 + j + 1), Host: addr.String(), Addr: addr, Port: 8080})
		}
		out[i] = farm.Farm{ID: uint32(i + 1), Name: fmt.Sprintf("f%d", i), Profile: farm.ProfileL4, L4: l,
			VIP: netip.AddrFrom4([4]byte{10, 200, byte(i / 250), byte(i % 250)})}
	}
	return out
}
