package rules

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Replies of backends of stateless_dnat farms pass this machine, where they get back the VIP
// and the virtual port. Connection tracking does not know them, so packets to a backend
// store how the replies look:
//
//	origins4|6   backend addresses; other packets pass after one lookup
//	tcp4 …       client, its port, backend, its port → mark of the backend
//	ports_tcp4 … the same → virtual port, for farms with several ports that backends rewrite
//	vips4|6      mark → VIP, in the table inet
//	vports       mark → virtual port, for farms with one port that backends rewrite; in inet too
//
// Address and port are rewritten when the reply leaves, because a packet from a local
// address would not be routed. An ICMP error about a reply that is too large must also
// contain the packet that the backend sent. With several ports the virtual port is only
// known on arrival, and rewritten there.

// forth returns the rules a packet to the backend passes before its destination address is
// rewritten.
func (p *packetFarm) forth(s *State) (out []string) {
	mark, digit := MarkText(s.ID), p.family.digit
	var fresh []string
	address := s.Addr.Unmap().String()
	p.wire.origin(p.family, address, p.farm.ID)
	p.netdevSet("back", "mark", "", "counter; ", mark, nft.Element{State: "counter"})
	p.rules.SetOf(inetID("vips"+digit), func() *nft.Set { return &nft.Set{Type: "mark", Data: p.family.address} }).Elements[mark] = nft.Element{Value: p.farm.VIP.Unmap().String(), Owner: p.farm.ID}
	port := "th dport"
	if RewritesPort(p.l4, s.Backend) {
		port = number(uint32(s.Port))
	}
	key, kind := fmt.Sprintf("ip saddr . th sport . %s . %s", address, port), "ipv4_addr . inet_service . ipv4_addr . inet_service"
	if p.family == v6 {
		// Then the packet already has the address of the backend.
		out, fresh = append(out, "ip6 daddr set "+address), append(fresh, "ip6 daddr set "+address)
		key, kind = fmt.Sprintf("jhash ip6 saddr . th sport . ip6 daddr %s . %s", hashes, port), "mark . inet_service"
	}
	for _, transport := range p.l4.Protocol.Transports() {
		remember := func(id nft.ID, data, value string) {
			p.rules.SetOf(id, func() *nft.Set {
				return &nft.Set{Type: kind, Data: data, Learned: true, Options: fmt.Sprintf("flags dynamic,timeout; size %d; ", maxFlows)}
			})
			// The element of an earlier flow must be deleted. Not for every packet: replies
			// must always find the element.
			fresh = append(fresh, fmt.Sprintf("meta l4proto %s delete @%s { %s : %s }", transport, id.Name, key, value))
			out = append(out, fmt.Sprintf("meta l4proto %s update @%s { %s timeout %ds : %s }", transport, id.Name, key, IdleTime(p.l4), value))
		}
		marks, ports := answerMaps(transport, p.family)
		remember(marks, "mark", "meta mark")
		if RewritesPort(p.l4, s.Backend) && p.l4.PortCount() != 1 {
			remember(ports, "inet_service", "th dport")
		}
	}
	if RewritesPort(p.l4, s.Backend) {
		for _, transport := range p.l4.Protocol.Transports() {
			out = append(out, setPort(transport, "dport", number(uint32(s.Port)))...)
		}
		p.returned(s, mark)
	}
	if p.family == v6 {
		fresh = append(fresh, "ip6 daddr set "+p.farm.VIP.String())
	}
	p.chain(openChain(s.ID)).Rules = append(fresh, "goto "+backendChain(s.ID))
	return out
}

func returnChain(id uint32) string { return "return" + number(id) }

// returned adds the rules that restore the virtual port of replies.
func (p *packetFarm) returned(s *State, mark string) {
	if p.l4.PortCount() == 1 {
		p.rules.SetOf(inetID("vports"), func() *nft.Set { return &nft.Set{Type: "mark", Data: "inet_service"} }).Elements[mark] = nft.Element{Value: number(uint32(p.l4.Ports[0].First)), Owner: p.farm.ID}
		return
	}
	p.netdevSet("returns"+p.family.digit, "mark", "verdict", "", mark, nft.Element{Value: "goto " + returnChain(s.ID)})
	p.chain(returnChain(s.ID)).Rules = p.portBack(s)
}

// portBack returns the rules that restore the virtual port, in a farm with several.
func (p *packetFarm) portBack(s *State) (out []string) {
	for _, transport := range p.l4.Protocol.Transports() {
		_, ports := answerMaps(transport, p.family)
		if p.family == v4 {
			out = append(out, setPort(transport, "sport", answerKey4+" map @"+ports.Name)...)
			continue
		}
		out = append(out, fmt.Sprintf("meta l4proto %s meta mark set %s", transport, answerHash6))
		out = append(out, setPort(transport, "sport", "meta mark . th sport map @"+ports.Name)...)
	}
	if p.family == v6 {
		out = append(out, "meta mark set "+MarkText(s.ID))
	}
	return out
}

// setPort rewrites a port. A UDP datagram without a checksum (zero, RFC 768) keeps none: the
// kernel would compute a wrong one from the zero.
func setPort(transport farm.L4Protocol, field, value string) []string {
	if transport != farm.L4UDP {
		return []string{fmt.Sprintf("meta l4proto %s %s %s set %s", transport, transport, field, value)}
	}
	bits := map[string]string{"sport": "@th,0,16", "dport": "@th,16,16"}[field]
	return []string{"meta l4proto udp udp checksum != 0 udp " + field + " set " + value, "meta l4proto udp udp checksum 0 " + bits + " set " + value}
}

// returns adds the chains that recognise replies, and the chains of the table inet that
// exempt them from tracking and rewrite them to the VIP.
func (c *compiler) returns() {
	if len(c.wire.returning) == 0 {
		return
	}
	chain := func(id nft.ID, hook string, rules ...string) {
		c.rules.ChainOf(id, func() *nft.Chain { return &nft.Chain{Hook: hook, Rules: rules} })
	}
	var dispatch, leave []string
	for _, f := range []*family{v4, v6} {
		if !c.wire.returning[f] || !c.sets[netdevID("origins"+f.digit)] {
			continue
		}
		dispatch = append(dispatch, f.ip+" saddr @origins"+f.digit+" goto answers"+f.digit)
		leave = append(leave, f.ip+" saddr set meta mark map @vips"+f.digit)
		chain(netdevID("answerfragments"+f.digit), "", "meta mark set "+fragmentKey(f), "meta mark set meta mark map @fragments", "meta mark < 0x5c000000 meta mark set 0")
		chain(netdevID("answers"+f.digit), "", c.answers(f)...)
	}
	if len(dispatch) == 0 {
		return
	}
	if c.has("vports") {
		for _, transport := range farm.L4All.Transports() {
			leave = append(leave, setPort(transport, "sport", "meta mark map @vports")...)
		}
	}
	for _, device := range c.wire.backs {
		chain(netdevID("answering_"+plainName(device)), "type filter hook ingress device "+quoted(device)+" priority 100; policy accept;", dispatch...)
	}
	chain(inetID("untracked"), "type filter hook prerouting priority -300; policy accept;", isOurs("meta mark", "==")+" notrack")
	chain(inetID("returned"), "type filter hook postrouting priority 110; policy accept;", append(append([]string{isOurs("meta mark", "!=") + " accept"}, leave...), "meta mark set 0")...)
}

// answers returns the rules that recognise replies of backends.
func (c *compiler) answers(f *family) []string {
	out := []string{later(f) + " goto answerfragments" + f.digit}
	first, key := "meta mark set 0", answerKey4
	if f == v6 {
		first, key = "meta mark set "+answerHash6, "meta mark . th sport"
	}
	out = append(out, first)
	for _, transport := range farm.L4All.Transports() {
		if marks, _ := answerMaps(transport, f); c.sets[marks] {
			out = append(out, fmt.Sprintf("meta l4proto %s meta mark set %s map @%s", transport, key, marks.Name))
		}
	}
	if f == v6 {
		out = append(out, "meta mark < 0x5c000000 meta mark set 0")
	}
	out = append(out, "meta mark 0 accept", "meta mark @back", fragment(f))
	if c.sets[netdevID("returns"+f.digit)] {
		out = append(out, "meta mark vmap @returns"+f.digit)
	}
	return out
}
