package icmprelay

import (
	"encoding/binary"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// lookup finds the value of a key in a kernel map, as nft.Lookup.
type lookup func(id nft.ID, key []byte) ([]byte, bool, error)

// index finds the recipient of an error among the running farms of packet modes, as last
// carried. It looks up by address and port, so the cost does not depend on the number of
// farms. It is immutable.
type index struct {
	wire   rules.Wire
	exact  map[taken]*farm.Farm        // farms with single ports
	wide   map[netip.Addr][]*farm.Farm // by VIP: farms with ranges, or all ports
	owners map[uint32]owner            // of backends, by mark
	// answering holds the backend addresses of farms with stateless_dnat.
	answering map[netip.Addr]bool
}

// taken is a port of a VIP.
type taken struct {
	vip       netip.Addr
	transport farm.L4Protocol
	port      uint16
}

// owner is a backend and its farm.
type owner struct {
	farm    *farm.Farm
	backend *farm.Backend
}

// newIndex returns an index of farms, without those with problems.
func newIndex(farms []farm.Farm, problems map[uint32]string, wire rules.Wire) *index {
	x := &index{wire: wire, exact: map[taken]*farm.Farm{}, wide: map[netip.Addr][]*farm.Farm{}, owners: map[uint32]owner{}, answering: map[netip.Addr]bool{}}
	for i := range farms {
		f := &farms[i]
		if f.Stopped || rules.Home(f.L4.NAT) != rules.Netdev() || problems[f.ID] != "" {
			continue
		}
		x.add(f)
	}
	return x
}

func (x *index) add(f *farm.Farm) {
	vip, all := f.VIP.Unmap(), f.L4.Protocol == farm.L4All
	wide := all || len(f.L4.Ports) == 0
	for _, r := range f.L4.Ports {
		if r.First != r.Last || all {
			wide = true
			continue
		}
		for _, t := range f.L4.Protocol.Transports() {
			x.exact[taken{vip, t, r.First}] = f
		}
	}
	if wide {
		x.wide[vip] = append(x.wide[vip], f)
	}
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		x.owners[rules.Mark(b.ID)] = owner{f, b}
		if f.L4.NAT == farm.NATStateless {
			x.answering[b.Addr.Unmap()] = true
		}
	}
}

// owner returns the owner of a mark in the form maps store it.
func (x *index) owner(value []byte) owner {
	if len(value) < 4 {
		return owner{}
	}
	return x.owners[binary.NativeEndian.Uint32(value)]
}

// relayed returns the error to forward, or false if it concerns no farm of packet modes.
// It does not block.
func (x *index) relayed(m *icmp.Message, look lookup) (relayed, bool) {
	if m.To == m.Src.Addr() {
		if e, ok := x.toBackend(m, look); ok {
			return e, true
		}
	}
	return x.toClient(m, look)
}

// toBackend handles an error about a packet sent to a client from a VIP: it goes to the
// backend of the flow. Farms with the most precise port are tried first.
func (x *index) toBackend(m *icmp.Message, look lookup) (relayed, bool) {
	transport, port := rules.Transport(m.Protocol), m.Src.Port()
	if f := x.exact[taken{m.To, transport, port}]; f != nil {
		if e, ok := x.ofFlow(f, m, look); ok {
			return e, true
		}
	}
	for precise := 1; precise <= 2; precise++ {
		for _, f := range x.wide[m.To] {
			if rules.Takes(f.L4, transport, port) != precise {
				continue
			}
			if e, ok := x.ofFlow(f, m, look); ok {
				return e, true
			}
		}
	}
	return relayed{}, false
}

// ofFlow returns the error for the backend of a flow of the farm. With dsr nothing is
// rewritten: the backend itself sent the packet from the VIP.
func (x *index) ofFlow(f *farm.Farm, m *icmp.Message, look lookup) (e relayed, found bool) {
	value, ok, err := look(rules.Flows(f), rules.FlowKey(f, m))
	if err != nil || !ok {
		return e, false
	}
	o := x.owner(value)
	if o.farm != f || rules.Unreached(x.wire, f.L4.NAT, o.backend) != "" {
		return e, false
	}
	b := o.backend
	e.packet = m.Packet()
	e.hop, _ = x.wire.NextHop(b.Addr.Unmap())
	if f.L4.NAT == farm.NATStateless {
		src := netip.AddrPortFrom(b.Addr.Unmap(), m.Src.Port())
		if rules.RewritesPort(f.L4, b) {
			src = netip.AddrPortFrom(src.Addr(), b.Port)
		}
		e.packet = m.Rewrite(m.From, src.Addr(), src, m.Dst)
	}
	return e, true
}

// toClient handles an error about a packet sent to a backend of a farm with
// stateless_dnat. The error goes to the client and contains the packet that the client
// sent to the VIP.
func (x *index) toClient(m *icmp.Message, look lookup) (e relayed, found bool) {
	if !x.answering[m.Dst.Addr()] || rules.Transport(m.Protocol) == "" {
		return e, false
	}
	marks, ports, key := rules.Answers(m)
	mark, _, _ := look(marks, key)
	o := x.owner(mark)
	if o.farm == nil || o.farm.L4.NAT != farm.NATStateless || o.backend.Addr.Unmap() != m.Dst.Addr() {
		return e, false
	}
	l, dst := o.farm.L4, netip.AddrPortFrom(o.farm.VIP.Unmap(), m.Dst.Port())
	switch {
	case !rules.RewritesPort(l, o.backend):
	case l.PortCount() == 1:
		dst = netip.AddrPortFrom(dst.Addr(), l.Ports[0].First)
	default:
		port, ok, _ := look(ports, key)
		if !ok || len(port) < 2 {
			return e, false
		}
		dst = netip.AddrPortFrom(dst.Addr(), binary.BigEndian.Uint16(port))
	}
	from := m.From
	if from == m.Dst.Addr() { // the backend itself, unknown to clients
		from = dst.Addr()
	}
	return relayed{packet: m.Rewrite(from, m.To, m.Src, dst)}, true
}
