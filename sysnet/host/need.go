package host

import (
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysctl"
)

// need is the set of requirements of farms. The zero value needs nothing.
type need struct {
	// v4 and v6 are true if packets of the family are forwarded to backends.
	v4, v6 bool
	// packets are the kinds of forwarded packets.
	packets []firewall.Packets
	// local4 and local6 are true if responses to client addresses belong to local
	// sockets.
	local4, local6 bool
	// addresses are the VIPs of the farms.
	addresses []netip.Addr
}

// demand is what one farm needs.
type demand struct {
	vip                    netip.Addr
	userspace, transparent bool
	forwards               bool // packets of its address family
	packets                []firewall.Packets
	filtered               bool // its packets to these destinations pass the firewall
	destinations           []firewall.Destination
}

func demandOf(f *farm.Farm) demand {
	d := demand{vip: f.VIP.Unmap(), userspace: f.InUserspace(), transparent: f.Transparent(), forwards: f.Filtered(), packets: packetsOf(f)}
	// Requests of stateless_dnat leave at the interface where they arrive, before the firewall.
	if d.filtered = d.forwards && !d.transparent && f.L4.NAT != farm.NATStateless; d.filtered {
		d.destinations = destinations(f)
	}
	return d
}

// needOf returns the needs of farms. Packets of dsr are forwarded between interfaces
// before any hook here. Packets of stateless_dnat are forwarded with a mark and without a
// connection.
func needOf(demands []demand) need {
	var n need
	for i := range demands {
		d := &demands[i]
		if d.transparent {
			n.local4, n.local6 = n.local4 || d.vip.Is4(), n.local6 || d.vip.Is6()
			continue
		}
		n.addresses = append(n.addresses, d.vip)
		if slices.ContainsFunc(d.packets, func(p firewall.Packets) bool { return !slices.Contains(n.packets, p) }) {
			n.packets = firewall.Union(n.packets, d.packets)
		}
		if d.forwards {
			n.v4, n.v6 = n.v4 || d.vip.Is4(), n.v6 || d.vip.Is6()
		}
	}
	return n
}

// destinationsOf returns the backends to which packets of the farms are forwarded through the
// firewall, by farm.
func destinationsOf(farms []farm.Farm, demands []demand) map[uint32][]firewall.Destination {
	out := map[uint32][]firewall.Destination{}
	for i := range demands {
		if demands[i].filtered {
			out[farms[i].ID] = demands[i].destinations
		}
	}
	return out
}

func destinations(f *farm.Farm) (out []firewall.Destination) {
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		if !b.Addr.IsValid() {
			continue
		}
		port := b.Port
		if ports := f.L4.Ports; port == 0 && len(ports) == 1 && ports[0].First == ports[0].Last {
			port = ports[0].First
		}
		for _, t := range f.L4.Protocol.Transports() {
			out = append(out, firewall.Destination{Protocol: string(t), Addr: netip.AddrPortFrom(b.Addr.Unmap(), port)})
		}
	}
	return out
}

// packetsOf returns the kinds of packets that the farm forwards; none for dsr.
func packetsOf(f *farm.Farm) (out []firewall.Packets) {
	if !f.Filtered() {
		return nil
	}
	for _, t := range f.L4.Protocol.Transports() {
		out = append(out, firewall.Packets{Marked: f.L4.NAT == farm.NATStateless, V6: f.VIP.Unmap().Is6(), Protocol: string(t)})
	}
	return out
}

// same reports whether only the addresses differ.
func (n need) same(o need) bool {
	return n.v4 == o.v4 && n.v6 == o.v6 && slices.Equal(n.packets, o.packets) && n.local4 == o.local4 && n.local6 == o.local6
}

func (n need) forwards() bool { return n.v4 || n.v6 }

func (n need) firewall() firewall.Need {
	return firewall.Need{Mark: claim.FirstMark, Mask: claim.MarkMask, Packets: n.packets}
}

func (n need) settings() []sysctl.Setting {
	if !n.forwards() {
		return nil
	}
	return append(sysctl.Forward(n.v4, n.v6), sysctl.Counters(), sysctl.ExplicitHelpers())
}
