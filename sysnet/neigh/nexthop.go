package neigh

import (
	"fmt"
	"net"
	"net/netip"
)

// MAC is an Ethernet address.
type MAC [6]byte

// String returns the form "02:00:00:00:00:01".
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// NextHop describes how an address is reached on the wire. If Problem, a sentence for
// operators, is not empty, MAC is the zero value and the other fields are set as far as
// known.
type NextHop struct {
	Addr netip.Addr
	// MAC is that of Gateway if valid, else of the address.
	MAC MAC
	// Interface is the outgoing interface, Index its number, Own its MAC.
	Interface string
	Index     int
	Own       MAC
	// Gateway is the next hop; invalid if the address is on the link.
	Gateway netip.Addr
	Problem string
}

// OnLink reports whether the address is reached without a gateway.
func (p NextHop) OnLink() bool { return !p.Gateway.IsValid() }

// hop returns the address whose MAC is used.
func (p NextHop) hop() netip.Addr {
	if p.Gateway.IsValid() {
		return p.Gateway
	}
	return p.Addr
}

// String returns one line for display.
func (p NextHop) String() string {
	switch {
	case p.Problem != "":
		return fmt.Sprintf("%s: %s", p.Addr, p.Problem)
	case p.OnLink():
		return fmt.Sprintf("%s is %s on %s", p.Addr, p.MAC, p.Interface)
	}
	return fmt.Sprintf("%s is behind %s, %s on %s", p.Addr, p.Gateway, p.MAC, p.Interface)
}
