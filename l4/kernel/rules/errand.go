package rules

import (
	"encoding/binary"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/icmp"
)

// Takes tells how precisely the farm names the port of a transport protocol: 0
// by itself, 1 in a range, 2 with all; -1 when it does not take it.
func (p *PacketFarm) Takes(protocol uint8, port uint16) int {
	if p.L4.Protocol == farm.L4All {
		return 2
	}
	if !slices.Contains(p.Transports(), TransportName(protocol)) {
		return -1
	}
	if len(p.L4.Ports) == 0 {
		return 1 // as 1-65535
	}
	for _, r := range p.L4.Ports {
		switch {
		case r.First == r.Last && r.First == port:
			return 0
		case r.First <= port && port <= r.Last:
			return 1
		}
	}
	return -1
}

// Rewritten are the protocols whose ports can be rewritten, by their numbers.
var Rewritten = map[uint8]string{icmp.TCP: "tcp", icmp.UDP: "udp", icmp.SCTP: "sctp"}

func TransportName(protocol uint8) string { return Rewritten[protocol] }

// FlowOf is the key of the flow the client's packets belong to, see flowKey.
func (p *PacketFarm) FlowOf(m *icmp.Message) []byte {
	key := AppendPort(AppendPort(m.Dst.Addr().AsSlice(), m.Dst.Port()), m.Src.Port())
	if p.sharesTransports() {
		key = append(key, m.Protocol, 0, 0, 0)
	}
	if p.Family == V6 {
		return MarkBytes(HashBytes(key))
	}
	return key
}

func AppendPort(b []byte, port uint16) []byte {
	return append(binary.BigEndian.AppendUint16(b, port), 0, 0)
}

func MarkBytes(m uint32) []byte { return binary.NativeEndian.AppendUint32(nil, m) }
