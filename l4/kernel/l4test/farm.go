// Package l4test is farms of layer 4 for tests.
package l4test

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Example is a farm of two backends that edit changes.
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

// Six makes an example one of IPv6.
func Six(f *farm.Farm) {
	f.VIP = netip.MustParseAddr("2001:db8::1")
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		b.Addr = netip.MustParseAddr([]string{"fd00::1", "fd00::2"}[i])
	}
}
