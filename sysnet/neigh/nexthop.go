package neigh

import (
	"fmt"
	"net"
	"net/netip"
)

// MAC is an Ethernet address.
type MAC [6]byte

// String is "02:00:00:00:00:01".
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// NextHop says how an address is reached on the wire. With a Problem, a sentence
// for people, MAC is the zero value and the rest is what is known.
type NextHop struct {
	Addr netip.Addr
	// MAC is that of the address, or of Gateway when that is valid.
	MAC MAC
	// Interface is the one packets leave by, Index its number, Own its MAC.
	Interface string
	Index     int
	Own       MAC
	// Gateway is the next hop; invalid when the address is on the link.
	Gateway netip.Addr
	Problem string
}

// OnLink reports whether no gateway is between.
func (p NextHop) OnLink() bool { return !p.Gateway.IsValid() }

// hop is whose MAC counts.
func (p NextHop) hop() netip.Addr {
	if p.Gateway.IsValid() {
		return p.Gateway
	}
	return p.Addr
}

// String is one line for people.
func (p NextHop) String() string {
	switch {
	case p.Problem != "":
		return fmt.Sprintf("%s: %s", p.Addr, p.Problem)
	case p.OnLink():
		return fmt.Sprintf("%s is %s on %s", p.Addr, p.MAC, p.Interface)
	}
	return fmt.Sprintf("%s is behind %s, %s on %s", p.Addr, p.Gateway, p.MAC, p.Interface)
}
