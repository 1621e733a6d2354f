package kernel

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// lookup finds the value of a key in a map of the kernel, as nft.Lookup.
type lookup func(id nft.ID, key []byte) ([]byte, bool, error)

// errand finds out whom an error concerns; false when that is nobody behind a
// farm of packet modes.
func (k *Keeper) errand(m *icmp.Message, look lookup) (errand, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wire == nil {
		return errand{}, false
	}
	if m.To == m.Src.Addr() {
		if e, ok := k.toBackend(m, look); ok {
			return e, true
		}
	}
	return k.toClient(m, look)
}

// packetFarms are those that run, as they were compiled.
func (k *Keeper) packetFarms(each func(p *packetFarm) (end bool)) {
	for i := range k.farms {
		f := &k.farms[i]
		if f.Stopped || home(f.L4.NAT) != Netdev || k.problems[f.ID] != "" {
			continue
		}
		if each(&packetFarm{group: group{farm: f, l4: f.L4, family: familyOf(f.VIP.Unmap())}}) {
			return
		}
	}
}

// toBackend is for an error about what a client was sent in the name of a VIP:
// the backend of the flow gets it. With dsr that is how the backend sent it, so
// nothing is rewritten.
func (k *Keeper) toBackend(m *icmp.Message, look lookup) (e errand, found bool) {
	for precise := range 3 {
		k.packetFarms(func(p *packetFarm) bool {
			if p.farm.VIP.Unmap() != m.To || p.takes(m.Protocol, m.Src.Port()) != precise {
				return false
			}
			value, ok, err := look(netdev(p.flows()), p.flowOf(m))
			if err != nil || !ok {
				return false
			}
			b := p.backendOf(value)
			if b == nil || unreached(k.wire, p.l4.NAT, b) != "" {
				return false
			}
			e.packet, found = m.Packet(), true
			e.place, _ = k.wire.Place(b.Addr.Unmap())
			if p.l4.NAT == farm.NATStateless {
				src := netip.AddrPortFrom(b.Addr.Unmap(), m.Src.Port())
				if p.rewritesPort(&state{Backend: b}) {
					src = netip.AddrPortFrom(src.Addr(), b.Port)
				}
				e.packet = m.Rewrite(m.From, src.Addr(), src, m.Dst)
			}
			return true
		})
		if found {
			return e, true
		}
	}
	return e, false
}

// toClient is for an error about what a backend of a farm with stateless_dnat
// was sent: the client gets it, about what it sent to the VIP.
func (k *Keeper) toClient(m *icmp.Message, look lookup) (e errand, found bool) {
	var mark []byte
	k.packetFarms(func(p *packetFarm) bool {
		if p.l4.NAT != farm.NATStateless || !slices.ContainsFunc(p.l4.Backends, func(b farm.Backend) bool { return b.Addr.Unmap() == m.Dst.Addr() }) {
			return false
		}
		transport, key := transportName(m.Protocol), p.answerOf(m)
		if mark == nil {
			mark, _, _ = look(netdev(transport+p.family.digit), key)
		}
		b := p.backendOf(mark)
		if b == nil || b.Addr.Unmap() != m.Dst.Addr() {
			return false
		}
		dst := netip.AddrPortFrom(p.farm.VIP.Unmap(), m.Dst.Port())
		switch {
		case !p.rewritesPort(&state{Backend: b}):
		case p.l4.PortCount() == 1:
			dst = netip.AddrPortFrom(dst.Addr(), p.l4.Ports[0].First)
		default:
			port, ok, _ := look(netdev("ports_"+transport+p.family.digit), key)
			if !ok || len(port) < 2 {
				return true
			}
			dst = netip.AddrPortFrom(dst.Addr(), binary.BigEndian.Uint16(port))
		}
		from := m.From
		if from == m.Dst.Addr() { // the backend itself, which clients do not know
			from = dst.Addr()
		}
		e.packet, found = m.Rewrite(from, m.To, m.Src, dst), true
		return true
	})
	return e, found
}

// takes tells how precisely the farm names the port of a transport protocol: 0
// by itself, 1 in a range, 2 with all; -1 when it does not take it.
func (p *packetFarm) takes(protocol uint8, port uint16) int {
	if p.l4.Protocol == farm.L4All {
		return 2
	}
	if !slices.Contains(p.transports(), transportName(protocol)) {
		return -1
	}
	if len(p.l4.Ports) == 0 {
		return 1 // as 1-65535
	}
	for _, r := range p.l4.Ports {
		switch {
		case r.First == r.Last && r.First == port:
			return 0
		case r.First <= port && port <= r.Last:
			return 1
		}
	}
	return -1
}

func transportName(protocol uint8) string {
	return map[uint8]string{icmp.TCP: "tcp", icmp.UDP: "udp", icmp.SCTP: "sctp"}[protocol]
}

// backendOf is the backend of the farm with that mark, as maps have it.
func (p *packetFarm) backendOf(value []byte) *farm.Backend {
	if len(value) < 4 {
		return nil
	}
	mark := binary.NativeEndian.Uint32(value)
	for i := range p.l4.Backends {
		if b := &p.l4.Backends[i]; Mark(b.ID) == mark {
			return b
		}
	}
	return nil
}

// flowOf is the key of the flow the client's packets belong to, see flowKey.
func (p *packetFarm) flowOf(m *icmp.Message) []byte {
	key := appendPort(appendPort(m.Dst.Addr().AsSlice(), m.Dst.Port()), m.Src.Port())
	if p.sharesTransports() {
		key = append(key, m.Protocol, 0, 0, 0)
	}
	if p.family == v6 {
		return markBytes(hashBytes(key))
	}
	return key
}

// answerOf is the key by which answers are recognised of what the message is
// about, see forth.
func (p *packetFarm) answerOf(m *icmp.Message) []byte {
	key := appendPort(m.Src.Addr().AsSlice(), m.Src.Port())
	key = append(key, m.Dst.Addr().AsSlice()...)
	if p.family == v6 {
		key = markBytes(hashBytes(key))
	}
	return appendPort(key, m.Dst.Port())
}

func appendPort(b []byte, port uint16) []byte {
	return append(binary.BigEndian.AppendUint16(b, port), 0, 0)
}

func markBytes(m uint32) []byte { return binary.NativeEndian.AppendUint32(nil, m) }
