package housetest

import (
	"fmt"
	"net"
	"strings"
)

// Network is a LAN: a bridge with the joined devices as ports.
type Network struct {
	Name string
	h    *House
}

// Link is a device of a namespace.
type Link struct {
	Name string
	MAC  net.HardwareAddr
	In   *Namespace
	port string // its other end, at the bridge
	h    *House
}

// Network makes a LAN. The name has at most ten characters.
func (h *House) Network(name string) *Network {
	h.t.Helper()
	h.wires.batch(
		"link add "+name+" type bridge mcast_snooping 0 forward_delay 0",
		"link set "+name+" up",
	)
	for _, family := range []string{"iptables", "ip6tables", "arptables"} {
		h.wires.Try("0", "tee", "/proc/sys/net/bridge/bridge-nf-call-"+family) // packet filters must not apply to bridged frames
	}
	return &Network{name, h}
}

// Join adds a device of the namespace to the network, with addresses ("10.10.1.1/24",
// "fd00:1::1/64").
func (n *Network) Join(in *Namespace, device string, addresses ...string) *Link {
	n.h.t.Helper()
	n.h.links++
	i := n.h.links
	l := &Link{Name: device, MAC: net.HardwareAddr{2, 0x5c, 0, 0, byte(i >> 8), byte(i)}, In: in, port: fmt.Sprintf("%s.%d", n.Name, i), h: n.h}
	n.h.wires.batch(
		fmt.Sprintf("link add %s type veth peer name %s address %s netns %s", l.port, device, l.MAC, in.Path()),
		fmt.Sprintf("link set %s master %s up", l.port, n.Name),
	)
	in.batch("link set " + device + " up")
	l.Add(addresses...)
	return l
}

// Add adds addresses to the device.
func (l *Link) Add(addresses ...string) {
	l.h.t.Helper()
	lines := make([]string, len(addresses))
	for i, a := range addresses {
		lines[i] = "address add " + a + " dev " + l.Name
		if strings.Contains(a, ":") {
			lines[i] += " nodad"
		}
	}
	l.In.batch(lines...)
}

// Unplug sets the link down; Plug reverts it.
func (l *Link) Unplug() { l.h.wires.Run("ip", "link", "set", l.port, "down") }

// Plug reverts Unplug.
func (l *Link) Plug() { l.h.wires.Run("ip", "link", "set", l.port, "up") }

// batch runs ip(8) once for all lines.
func (n *Namespace) batch(lines ...string) {
	n.t.Helper()
	n.Feed(strings.Join(lines, "\n")+"\n", "ip", "-batch", "-")
}

// Route adds routes, e.g. "default via 10.10.1.1".
func (n *Namespace) Route(routes ...string) {
	n.t.Helper()
	for i, r := range routes {
		family := ""
		if strings.Contains(r, ":") {
			family = "-6 "
		}
		n.Run("ip", strings.Fields(family+"route add "+routes[i])...)
	}
}
