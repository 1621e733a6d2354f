package rules

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Farms of packet modes remember their flows in maps. Errors about their packets
// come to this machine, so who carries those looks into the same maps, by keys it
// makes itself: both forms of a key are here, beside each other.

// flowKey is what packets of a flow have in common. IPv6 keys are hashed: nft
// up to 1.0.6 takes no more than 16 bytes where a packet adds an element. Two
// flows with one hash share a backend, nothing else.
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

// FlowKey is the key of a flow, by a packet of it that was sent to the client.
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

// Flows is the map of the farm's flows, to marks of backends. The kind of key is
// part of its name: with another kind a farm begins with none.
func Flows(f *farm.Farm) nft.ID {
	name := "flows" + number(f.ID) + "_" + familyOf(f.VIP).digit
	if _, kind := flowKey(f); strings.HasSuffix(kind, "inet_proto") {
		name += "p"
	}
	return netdevID(name)
}

// sharesTransports reports whether flows of several transport protocols are in
// one map.
func sharesTransports(l *farm.L4) bool {
	return l.Protocol == farm.L4All || len(l.Protocol.Transports()) > 1
}

// IdleTime is how long a flow of packet modes may be silent.
func IdleTime(l *farm.L4) farm.Seconds {
	if l.IdleTimeout > 0 {
		return l.IdleTimeout
	}
	return farm.DefaultPacketIdleTime
}

// transports are the protocols whose ports can be rewritten.
var transports = map[uint8]farm.L4Protocol{icmp.TCP: farm.L4TCP, icmp.UDP: farm.L4UDP, icmp.SCTP: farm.L4SCTP}

// Transport is the protocol with that number; empty for one without ports.
func Transport(number uint8) farm.L4Protocol { return transports[number] }

// Takes tells how precisely a farm names the port of a transport protocol: 0 by
// itself, 1 in a range, 2 with all; -1 when it does not take it.
func Takes(l *farm.L4, transport farm.L4Protocol, port uint16) int {
	switch {
	case l.Protocol == farm.L4All:
		return 2
	case !slices.Contains(l.Protocol.Transports(), transport):
		return -1
	case len(l.Ports) == 0:
		return 1 // as 1-65535
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

// Keys by which answers of backends are recognised, see forth.
const answerKey4 = "ip daddr . th dport . ip saddr . th sport"

var answerHash6 = "jhash ip6 daddr . th dport . ip6 saddr " + hashes

// answerMaps are the maps answers by a transport protocol are recognised by: to
// the mark of the backend, and to the virtual port.
func answerMaps(transport farm.L4Protocol, f *family) (marks, ports nft.ID) {
	name := string(transport) + f.digit
	return netdevID(name), netdevID("ports_" + name)
}

// Answers is where to look for whom a backend answers, by what was sent to it:
// the two maps, and the key in both.
func Answers(m *icmp.Message) (marks, ports nft.ID, key []byte) {
	f := familyOf(m.Dst.Addr())
	key = append(appendPort(m.Src.Addr().AsSlice(), m.Src.Port()), m.Dst.Addr().AsSlice()...)
	if f == v6 {
		key = hashKey(key)
	}
	marks, ports = answerMaps(Transport(m.Protocol), f)
	return marks, ports, appendPort(key, m.Dst.Port())
}

// RewritesPort reports whether a backend of the farm has a port of its own.
func RewritesPort(l *farm.L4, b *farm.Backend) bool { return b.Port != 0 && l.Protocol != farm.L4All }

// appendPort appends a port as keys have it, filled up to four bytes.
func appendPort(b []byte, port uint16) []byte {
	return append(binary.BigEndian.AppendUint16(b, port), 0, 0)
}

// hashKey is the hash of a key, as a key.
func hashKey(b []byte) []byte { return binary.NativeEndian.AppendUint32(nil, hashBytes(b)) }
