package rules

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Answers of backends of stateless_dnat farms come through here and get back
// the VIP and the virtual port. No connection tracking knows them, so packets
// on their way to a backend leave behind how their answers look:
//
//	origins4|6   addresses of backends: all others pass at the price of one lookup
//	tcp4 …       client, its port, backend, its port → mark of the backend
//	ports_tcp4 … the same → virtual port, for farms with several that backends do not keep
//	vips4|6      mark → VIP, in the table inet
//	vports       mark → virtual port, for farms with one that backends do not keep; there too
//
// Both are rewritten when the answer leaves: a packet from an address of our own
// would not be routed, and one that is too large for its way is quoted to the
// backend, which has to recognise it. One port of several is known where the
// answer arrives only, and rewritten there.

// Transport is a protocol whose ports can be rewritten.
var transportsRewritten = []string{"tcp", "udp", "sctp"}

// forth is what a packet to the backend passes before its destination address
// is rewritten.
func (p *PacketFarm) forth(s *State) (out []string) {
	mark, digit := MarkText(s.ID), p.Family.Digit
	var fresh []string
	address := s.Addr.Unmap().String()
	p.netdevSet("origins"+digit, p.Family.address, "", "", address, nft.Element{})
	p.netdevSet("back", "mark", "", "counter; ", mark, nft.Element{State: "counter"})
	p.rules.SetOf(InetID("vips"+digit), func() *nft.Set { return &nft.Set{Type: "mark", Data: p.Family.address} }).Elements[mark] = nft.Element{Value: p.Farm.VIP.Unmap().String(), Owner: p.Farm.ID}
	port := "th dport"
	if p.RewritesPort(s) {
		port = number(uint32(s.Port))
	}
	key, kind := fmt.Sprintf("ip saddr . th sport . %s . %s", address, port), "ipv4_addr . inet_service . ipv4_addr . inet_service"
	if p.Family == V6 {
		// The address of the backend is in the packet by then: see the order.
		out, fresh = append(out, "ip6 daddr set "+address), append(fresh, "ip6 daddr set "+address)
		key, kind = fmt.Sprintf("jhash ip6 saddr . th sport . ip6 daddr %s . %s", hashes, port), "mark . inet_service"
	}
	for _, transport := range p.Transports() {
		remember := func(name, data, value string) {
			p.rules.SetOf(NetdevID(name), func() *nft.Set {
				return &nft.Set{Type: kind, Data: data, Learned: true, Options: fmt.Sprintf("flags dynamic,timeout; size %d; ", maxFlows)}
			})
			// What an earlier flow left would stay. Not with every packet: answers
			// must find the element at any time.
			fresh = append(fresh, fmt.Sprintf("meta l4proto %s delete @%s { %s : %s }", transport, name, key, value))
			out = append(out, fmt.Sprintf("meta l4proto %s update @%s { %s timeout %ds : %s }", transport, name, key, IdleTime(p.L4), value))
		}
		remember(transport+digit, "mark", "meta mark")
		if p.RewritesPort(s) && p.L4.PortCount() != 1 {
			remember("ports_"+transport+digit, "inet_service", "th dport")
		}
	}
	if p.RewritesPort(s) {
		for _, transport := range p.Transports() {
			out = append(out, setPort(transport, "dport", number(uint32(s.Port)))...)
		}
		p.returned(s, mark)
	}
	if p.Family == V6 {
		fresh = append(fresh, "ip6 daddr set "+p.Farm.VIP.String())
	}
	p.chain(openChain(s.ID)).Rules = append(fresh, "goto "+backendChain(s.ID))
	return out
}

func returnChain(id uint32) string { return "return" + number(id) }

// RewritesPort reports whether the backend has a port of its own.
func (p *PacketFarm) RewritesPort(s *State) bool { return s.Port != 0 && p.L4.Protocol != farm.L4All }

// Transports are those whose answers are recognised.
func (p *PacketFarm) Transports() (out []string) {
	for _, t := range transportsRewritten {
		if slices.Contains(p.L4.Protocol.Transports(), farm.L4Protocol(t)) {
			out = append(out, t)
		}
	}
	return out
}

// returned has answers of a backend get the virtual port back.
func (p *PacketFarm) returned(s *State, mark string) {
	if p.L4.PortCount() == 1 {
		p.rules.SetOf(InetID("vports"), func() *nft.Set { return &nft.Set{Type: "mark", Data: "inet_service"} }).Elements[mark] = nft.Element{Value: number(uint32(p.L4.Ports[0].First)), Owner: p.Farm.ID}
		return
	}
	p.netdevSet("returns"+p.Family.Digit, "mark", "verdict", "", mark, nft.Element{Value: "goto " + returnChain(s.ID)})
	p.chain(returnChain(s.ID)).Rules = p.portBack(s)
}

// portBack gives an answer its virtual port of several.
func (p *PacketFarm) portBack(s *State) (out []string) {
	for _, transport := range p.Transports() {
		if p.Family == V4 {
			out = append(out, setPort(transport, "sport", answerKey4+" map @ports_"+transport+"4")...)
			continue
		}
		out = append(out, fmt.Sprintf("meta l4proto %s meta mark set %s", transport, answerHash6))
		out = append(out, setPort(transport, "sport", "meta mark . th sport map @ports_"+transport+"6")...)
	}
	if p.Family == V6 {
		out = append(out, "meta mark set "+MarkText(s.ID))
	}
	return out
}

// setPort rewrites a port. A datagram without a checksum (RFC 768: zero) keeps
// none: the kernel would make one of the zero, which is wrong.
func setPort(transport, field, value string) []string {
	if transport != "udp" {
		return []string{fmt.Sprintf("meta l4proto %s %s %s set %s", transport, transport, field, value)}
	}
	place := map[string]string{"sport": "@th,0,16", "dport": "@th,16,16"}[field]
	return []string{"meta l4proto udp udp checksum != 0 udp " + field + " set " + value, "meta l4proto udp udp checksum 0 " + place + " set " + value}
}

const answerKey4 = "ip daddr . th dport . ip saddr . th sport"

var answerHash6 = "jhash ip6 daddr . th dport . ip6 saddr " + hashes

// returns adds the chains that recognise answers, and those of the table inet
// that let them pass untracked and give them the VIP.
func (c *compiler) returns() {
	if len(c.wire.returning) == 0 {
		return
	}
	chain := func(id nft.ID, hook string, rules ...string) {
		c.rules.ChainOf(id, func() *nft.Chain { return &nft.Chain{Hook: hook, Rules: rules} })
	}
	var dispatch, leave []string
	for _, f := range []*family{V4, V6} {
		if !c.wire.returning[f] || c.rules.Sets[NetdevID("origins"+f.Digit)] == nil {
			continue
		}
		dispatch = append(dispatch, f.ip+" saddr @origins"+f.Digit+" goto answers"+f.Digit)
		leave = append(leave, f.ip+" saddr set meta mark map @vips"+f.Digit)
		chain(NetdevID("answerfragments"+f.Digit), "", "meta mark set "+fragmentKey(f), "meta mark set meta mark map @fragments", "meta mark < 0x5c000000 meta mark set 0")
		chain(NetdevID("answers"+f.Digit), "", c.answers(f)...)
	}
	if len(dispatch) == 0 {
		return
	}
	if c.has("vports") {
		for _, transport := range transportsRewritten {
			leave = append(leave, setPort(transport, "sport", "meta mark map @vports")...)
		}
	}
	for _, device := range c.wire.backs {
		chain(NetdevID("answering_"+plainName(device)), "type filter hook ingress device "+quoted(device)+" priority 100; policy accept;", dispatch...)
	}
	const ours = "meta mark & 0xff000000 == 0x5c000000"
	chain(InetID("untracked"), "type filter hook prerouting priority -300; policy accept;", ours+" notrack")
	chain(InetID("returned"), "type filter hook postrouting priority 110; policy accept;", append(append([]string{"meta mark & 0xff000000 != 0x5c000000 accept"}, leave...), "meta mark set 0")...)
}

// answers recognises what comes back from a backend.
func (c *compiler) answers(f *family) []string {
	out := []string{later(f) + " goto answerfragments" + f.Digit}
	first, key := "meta mark set 0", answerKey4
	if f == V6 {
		first, key = "meta mark set "+answerHash6, "meta mark . th sport"
	}
	out = append(out, first)
	for _, transport := range transportsRewritten {
		if c.rules.Sets[NetdevID(transport+f.Digit)] != nil {
			out = append(out, fmt.Sprintf("meta l4proto %s meta mark set %s map @%s%s", transport, key, transport, f.Digit))
		}
	}
	if f == V6 {
		out = append(out, "meta mark < 0x5c000000 meta mark set 0")
	}
	out = append(out, "meta mark 0 accept", "meta mark @back", fragment(f))
	if c.rules.Sets[NetdevID("returns"+f.Digit)] != nil {
		out = append(out, "meta mark vmap @returns"+f.Digit)
	}
	return out
}
