package housetest

import "fmt"

// Plan is the usual network:
//
//	client ──┬── front ──┬── appliance ── back ──┬── backend 1 … n
//	client 2 ┘           └── direct 1 … m
//
//	far ── router ── front                  (with Router)
//
// Addresses: front is 10.10.1.0/24 and fd00:1::/64, back 10.10.2.0/24 and fd00:2::/64,
// beyond the router is 10.10.3.0/24 and fd00:3::/64. The appliance is .1 in front and
// back, the router .1 beyond. Backends and direct backends are .11, .12, … The clients
// are .2, .3, …; the first also has .100 to .100+Sources-1. The router is .254 (::fe) in
// front. IPv6 addresses end in hexadecimal digits that look like the decimal number (::11
// for .11).
//
// The default route of backends is the appliance, that of all others in front is the
// router. Forwarding is disabled in the appliance.
type Plan struct {
	Clients  int // at least one
	Sources  int // additional addresses of the first client
	Backends int
	Direct   int // backends in the network of the clients, for dsr
	Router   bool
}

// Site is the network of a Plan.
type Site struct {
	*House
	Front, Back, Beyond  *Network
	Client               *Namespace // the first of Clients
	Clients              []*Namespace
	ClientLinks          []*Link
	Appliance            *Namespace
	FrontLink, BackLink  *Link // of the appliance
	Backends, Direct     []*Machine
	Router, Far          *Namespace
	RouterLink, FarLinks *Link
}

// Machine is a backend: a namespace with one device.
type Machine struct {
	*Namespace
	Link *Link
	// V4 and V6 are its addresses.
	V4, V6 string
}

// Addresses of the appliance in front and back.
const (
	ApplianceFront4, ApplianceFront6 = "10.10.1.1", "fd00:1::1"
	ApplianceBack4, ApplianceBack6   = "10.10.2.1", "fd00:2::1"
)

// Build makes the network.
func (p Plan) Build(h *House) *Site {
	h.t.Helper()
	s := &Site{House: h, Front: h.Network("front"), Back: h.Network("back"), Appliance: h.Namespace("appliance")}
	s.FrontLink = s.Front.Join(s.Appliance, "front", ApplianceFront4+"/24", ApplianceFront6+"/64")
	s.BackLink = s.Back.Join(s.Appliance, "back", ApplianceBack4+"/24", ApplianceBack6+"/64")
	for i := range max(p.Clients, 1) {
		c := h.Namespace(fmt.Sprintf("client%d", i+1))
		l := s.Front.Join(c, "eth0", numbered(1, 2+i)...)
		s.Clients, s.ClientLinks = append(s.Clients, c), append(s.ClientLinks, l)
	}
	s.Client = s.Clients[0]
	if p.Sources > 0 {
		var more []string
		for i := range p.Sources {
			more = append(more, numbered(1, 100+i)...)
		}
		s.ClientLinks[0].Add(more...)
	}
	for i := range p.Backends {
		s.Backends = append(s.Backends, machine(h, s.Back, 2, fmt.Sprintf("b%d", i+1), 11+i))
		s.Backends[i].Route("default via "+ApplianceBack4, "default via "+ApplianceBack6)
	}
	for i := range p.Direct {
		d := machine(h, s.Front, 1, fmt.Sprintf("d%d", i+1), 11+i)
		d.Sysctl("net.ipv4.conf.all.arp_ignore", "1")   // answer only for addresses of the receiving device
		d.Sysctl("net.ipv4.conf.all.arp_announce", "2") // never announce the VIP
		s.Direct = append(s.Direct, d)
	}
	if p.Router {
		s.buildRouter(p)
	}
	return s
}

func (s *Site) buildRouter(p Plan) {
	h := s.House
	s.Beyond, s.Router, s.Far = h.Network("beyond"), h.Namespace("router"), h.Namespace("far")
	s.RouterLink = s.Front.Join(s.Router, "front", "10.10.1.254/24", "fd00:1::fe/64")
	s.Beyond.Join(s.Router, "beyond", numbered(3, 1)...)
	s.FarLinks = s.Beyond.Join(s.Far, "eth0", numbered(3, 2)...)
	s.Far.Route("default via 10.10.3.1", "default via fd00:3::1")
	s.Router.Sysctl("net.ipv4.ip_forward", "1")
	s.Router.Sysctl("net.ipv6.conf.all.forwarding", "1")
	machines := append([]*Namespace{s.Appliance}, s.Clients...)
	for _, d := range s.Direct {
		machines = append(machines, d.Namespace)
	}
	for _, n := range machines {
		n.Route("default via 10.10.1.254", "default via fd00:1::fe")
	}
}

func machine(h *House, net *Network, number int, name string, host int) *Machine {
	n := h.Namespace(name)
	a := numbered(number, host)
	return &Machine{n, net.Join(n, "eth0", a...), fmt.Sprintf("10.10.%d.%d", number, host), fmt.Sprintf("fd00:%d::%d", number, host)}
}

// numbered returns the addresses of a host in one of the networks.
func numbered(network, host int) []string {
	return []string{fmt.Sprintf("10.10.%d.%d/24", network, host), fmt.Sprintf("fd00:%d::%d/64", network, host)}
}

// VIP adds the addresses of host n, 150 or more, to the appliance's front device and to
// the loopback device of every direct backend, where ARP does not announce them. It
// returns the addresses.
func (s *Site) VIP(n int) (v4, v6 string) {
	s.t.Helper()
	v4, v6 = fmt.Sprintf("10.10.1.%d", n), fmt.Sprintf("fd00:1::%d", n)
	s.FrontLink.Add(v4+"/32", v6+"/128")
	for _, d := range s.Direct {
		d.batch("address add "+v4+"/32 dev lo", "address add "+v6+"/128 dev lo nodad")
	}
	return v4, v6
}
