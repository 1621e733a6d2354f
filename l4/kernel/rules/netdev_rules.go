package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

func backendChain(id uint32) string { return "backend" + number(id) }
func openChain(id uint32) string    { return "open" + number(id) }
func wireChain(id uint32) string    { return "wire" + number(id) }

// Verdict maps of a farm, from the mark of a backend to one of its chains. Farms share none of
// them: for each rule that refers to a map, the kernel visits the chains of all elements
// whenever rules change (nft_table_validate).
const (
	sendMap  = "send"  // packets of known flows
	openMap  = "open"  // the first packet of a flow, with stateless_dnat
	keptMap  = "kept"  // packets of existing connections to backends that get no new ones
	plainMap = "plain" // packets without ports
)

// verdicts returns the name of a verdict map of the farm.
func (p *packetFarm) verdicts(kind string) string { return kind + number(p.farm.ID) }

// verdict adds an element to a verdict map of the farm.
func (p *packetFarm) verdict(kind string, s *State, chain string) {
	p.rules.SetOf(netdevID(p.verdicts(kind)), func() *nft.Set {
		return &nft.Set{Type: "mark", Data: "verdict", Owner: p.farm.ID}
	}).Elements[MarkText(s.ID)] = nft.Element{Value: "goto " + chain, Owner: p.farm.ID}
}

// farmRules returns the rules that find the backend of a packet.
func (p *packetFarm) farmRules(sessions *packetSessions) (out []string) {
	key, kind := flowKey(p.farm)
	flows := Flows(p.farm)
	p.rules.SetOf(flows, func() *nft.Set {
		return &nft.Set{Type: kind, Data: "mark", Learned: true, Owner: p.farm.ID,
			Options: fmt.Sprintf("flags dynamic,timeout; size %d; ", maxFlows)}
	})
	if p.l4.Protocol == farm.L4All {
		out = append(out, p.plain()...)
	}
	if p.family == v6 {
		out = append(out, "meta mark set "+key, "meta mark set meta mark map @"+flows.Name)
	} else {
		out = append(out, "meta mark set 0", "meta mark set "+key+" map @"+flows.Name)
	}
	if slices.ContainsFunc(p.states, func(s State) bool { return p.keeps(&s) }) {
		for _, t := range p.l4.Protocol.Transports() {
			if within, is := withinConnection[t]; is {
				out = append(out, within+" meta mark vmap @"+p.verdicts(keptMap))
			}
		}
	}
	if !p.delivers() {
		return append(out, "goto refuse")
	}
	// An element of a former backend must be deleted, because an update would keep it.
	out = append(out, "meta mark vmap @"+p.verdicts(sendMap), "delete @"+flows.Name+" { "+key+" : meta mark }")
	out = append(out, p.midStream(p.farm)...)
	deliver := "meta mark @opened meta mark vmap @" + p.verdicts(p.firstMap())
	if sessions != nil {
		out = append(out, sessions.lookup(deliver)...)
	}
	if p.l4.Logs {
		out = append(out, p.log())
	}
	if chosen := p.chosen(); len(chosen) > 0 {
		out = append(out, p.mark(chosen)...)
		if sessions != nil {
			out = append(out, sessions.learn())
		}
		out = append(out, deliver)
	}
	return append(out, "goto refuse")
}

// withinConnection matches packets that do not begin a connection, by protocol. SCTP begins
// one with an INIT chunk, which is alone in its packet (RFC 9260 §6.10).
var withinConnection = map[farm.L4Protocol]string{
	farm.L4TCP:  "tcp flags & (syn | ack) != syn",
	farm.L4SCTP: "meta l4proto sctp @th,96,8 != 1",
}

// delivers reports whether any packet can be delivered at all.
func (p *packetFarm) delivers() bool {
	for i := range p.states {
		if p.states[i].Known {
			return true
		}
	}
	return false
}

// mark returns the rules that set the mark of one of the backends.
func (p *packetFarm) mark(chosen []*State) []string {
	out := p.choose(chosen)
	for i := range out {
		out[i] = strings.Replace(out[i], "ct mark set ", "meta mark set ", 1)
	}
	return out
}

// plain returns the rules for packets without ports, in a farm that takes everything. With
// dsr the client address decides. With stateless_dnat, whose replies are recognised by
// ports, the packet stays on this machine. ICMPv6 always stays: neighbour discovery uses it.
func (p *packetFarm) plain() []string {
	chosen := p.chosen()
	if p.l4.NAT == farm.NATStateless || len(chosen) == 0 {
		return []string{"meta l4proto != { tcp, udp, sctp } accept"}
	}
	other := *p
	l4 := *p.l4
	l4.Algorithm = farm.L4HashSrc
	other.l4 = &l4
	chain := p.chain(fmt.Sprintf("plain%d", p.farm.ID))
	chain.Rules = append(other.mark(chosen), "meta mark vmap @"+p.verdicts(plainMap))
	for _, s := range chosen {
		p.verdict(plainMap, s, wireChain(s.ID))
	}
	return []string{"meta l4proto ipv6-icmp accept", "meta l4proto != { tcp, udp, sctp } goto " + fmt.Sprintf("plain%d", p.farm.ID)}
}

// backend adds the chains of one backend.
func (p *packetFarm) backend(s *State, sessions *packetSessions) {
	mark := MarkText(s.ID)
	for _, counted := range []string{"opened", "forth"} {
		p.netdevSet(counted, "mark", "", "counter; ", mark, nft.Element{State: "counter"})
	}
	p.verdict(sendMap, s, backendChain(s.ID))
	if p.firstMap() == openMap {
		p.verdict(openMap, s, openChain(s.ID))
	}
	p.way(s, sessions)
}

// firstMap returns the verdict map for the first packet of a flow.
func (p *packetFarm) firstMap() string {
	if p.l4.NAT == farm.NATStateless {
		return openMap
	}
	return sendMap
}

// kept adds the chains of a backend that only gets packets of existing connections.
func (p *packetFarm) kept(s *State) {
	mark := MarkText(s.ID)
	p.netdevSet("forth", "mark", "", "counter; ", mark, nft.Element{State: "counter"})
	p.verdict(keptMap, s, backendChain(s.ID))
	p.way(s, nil)
}

// way adds the chains that send packets of a flow to a backend.
func (p *packetFarm) way(s *State, sessions *packetSessions) {
	mark, hop := MarkText(s.ID), p.hops[s.ID]
	p.netdevSet("sendwire", "mark", "verdict", "", mark, nft.Element{Value: "goto " + wireChain(s.ID)})
	p.rules.SetOf(netdevID("fragments"), func() *nft.Set {
		return &nft.Set{Type: "mark", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 65536; "}
	})
	key, _ := flowKey(p.farm)
	rules := []string{
		"meta mark @forth",
		fmt.Sprintf("update @%s { %s timeout %ds : meta mark }", Flows(p.farm).Name, key, IdleTime(p.l4)),
	}
	if sessions != nil {
		rules = append(rules, sessions.touch())
	}
	rules = append(rules, fragment(p.family))
	wire := []string{}
	if p.l4.NAT == farm.NATStateless {
		rules = append(rules, p.forth(s)...)
		wire = append(wire, p.family.ip+" daddr set "+s.Addr.Unmap().String())
	}
	if m := s.Mark; m != 0 || p.l4.Mark != 0 {
		if m == 0 {
			m = p.l4.Mark
		}
		wire = append(wire, "meta mark set "+nft.Mark(m))
	}
	wire = append(wire, "ether daddr set "+hop.MAC.String(), "ether saddr set "+hop.Own.String(), "fwd to "+quoted(hop.Interface))
	p.chain(backendChain(s.ID)).Rules = append(rules, "goto "+wireChain(s.ID))
	p.chain(wireChain(s.ID)).Rules = wire
}
