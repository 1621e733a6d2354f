package rules

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Farms of packet modes keep their flows in maps. The relay of ICMP errors looks into the
// same maps, by keys it builds itself. So both forms of a key are defined here.

// flowKey returns the key of a flow's packets. IPv6 keys are hashed: nft up to 1.0.6 takes
// at most 16 bytes where a packet adds an element. Two flows with the same hash share only a
// backend.
func flowKey(f *farm.Farm) (text, kind string) {
	ip := familyOf(f.VIP)
	text, kind = ip.ip+" saddr . th sport . th dport", ip.address+" . inet_service . inet_service"
	if sharesTransports(f.L4) {
		text, kind = text+" . meta l4proto", kind+" . inet_proto"
	}
	if ip == v6 {
		return "jhash " + text + " " + hashes, "mark"
	}
	return text, kind
}

// FlowKey returns the key of a flow, from a packet sent to its client.
func FlowKey(f *farm.Farm, m *icmp.Message) []byte {
	key := appendPort(appendPort(m.Dst.Addr().AsSlice(), m.Dst.Port()), m.Src.Port())
	if sharesTransports(f.L4) {
		key = append(key, m.Protocol, 0, 0, 0)
	}
	if familyOf(f.VIP) == v6 {
		return hashKey(key)
	}
	return key
}

// Flows returns the map from the farm's flows to backend marks. Its name contains the kind
// of key, so a farm with another kind starts with an empty map.
func Flows(f *farm.Farm) nft.ID {
	name := "flows" + number(f.ID) + "_" + familyOf(f.VIP).digit
	if _, kind := flowKey(f); strings.HasSuffix(kind, "inet_proto") {
		name += "p"
	}
	return netdevID(name)
}

// sharesTransports reports whether flows of several transport protocols share a map.
func sharesTransports(l *farm.L4) bool {
	return l.Protocol == farm.L4All || len(l.Protocol.Transports()) > 1
}

// IdleTime returns the idle timeout of a flow of packet modes.
func IdleTime(l *farm.L4) farm.Seconds {
	if l.IdleTimeout > 0 {
		return l.IdleTimeout
	}
	return farm.DefaultPacketIdleTime
}

// transports holds the protocols whose ports can be rewritten.
var transports = map[uint8]farm.L4Protocol{icmp.TCP: farm.L4TCP, icmp.UDP: farm.L4UDP, icmp.SCTP: farm.L4SCTP}

// Transport returns the protocol with that number, or an empty string if it has no ports.
func Transport(number uint8) farm.L4Protocol { return transports[number] }

// Takes returns how precisely a farm matches a port: 0 as a single port, 1 in a range, 2
// with all ports, or -1 not at all.
func Takes(l *farm.L4, transport farm.L4Protocol, port uint16) int {
	switch {
	case l.Protocol == farm.L4All:
		return 2
	case !slices.Contains(l.Protocol.Transports(), transport):
		return -1
	case len(l.Ports) == 0:
		return 1 // like 1-65535
	}
	for _, r := range l.Ports {
		switch {
		case r.First == r.Last && r.First == port:
			return 0
		case r.First <= port && port <= r.Last:
			return 1
		}
	}
	return -1
}

// Keys that identify replies of backends, see forth.
const answerKey4 = "ip daddr . th dport . ip saddr . th sport"

var answerHash6 = "jhash ip6 daddr . th dport . ip6 saddr " + hashes

// answerMaps returns the maps for replies by a transport protocol: to the backend's mark,
// and to the virtual port.
func answerMaps(transport farm.L4Protocol, f *family) (marks, ports nft.ID) {
	name := string(transport) + f.digit
	return netdevID(name), netdevID("ports_" + name)
}

// Answers returns the two maps and the key that find the flow of a packet sent to a backend.
func Answers(m *icmp.Message) (marks, ports nft.ID, key []byte) {
	f := familyOf(m.Dst.Addr())
	key = append(appendPort(m.Src.Addr().AsSlice(), m.Src.Port()), m.Dst.Addr().AsSlice()...)
	if f == v6 {
		key = hashKey(key)
	}
	marks, ports = answerMaps(Transport(m.Protocol), f)
	return marks, ports, appendPort(key, m.Dst.Port())
}

// RewritesPort reports whether the backend has its own port.
func RewritesPort(l *farm.L4, b *farm.Backend) bool { return b.Port != 0 && l.Protocol != farm.L4All }

// appendPort appends a port as keys store it, padded to four bytes.
func appendPort(b []byte, port uint16) []byte {
	return append(binary.BigEndian.AppendUint16(b, port), 0, 0)
}

// hashKey returns the hash of a key, in the form of a key.
func hashKey(b []byte) []byte { return binary.NativeEndian.AppendUint32(nil, hashBytes(b)) }
