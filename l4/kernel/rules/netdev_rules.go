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

// flowKey is what packets of a flow have in common. IPv6 keys are hashed: nft
// up to 1.0.6 takes no more than 16 bytes where a packet adds an element. Two
// flows with one hash share a backend, nothing else.
func (p *PacketFarm) flowKey() (text, kind string) {
	text, kind = p.Family.ip+" saddr . th sport . th dport", p.Family.address+" . inet_service . inet_service"
	if p.sharesTransports() {
		text, kind = text+" . meta l4proto", kind+" . inet_proto"
	}
	if p.Family == V6 {
		return "jhash " + text + " " + hashes, "mark"
	}
	return text, kind
}

// sharesTransports reports whether flows of several transport protocols are in
// one map.
func (p *PacketFarm) sharesTransports() bool {
	return p.L4.Protocol == farm.L4All || len(p.L4.Protocol.Transports()) > 1
}

// Flows names the map of the farm's flows. The kind of key is part of it: with
// another kind a farm begins with none.
func (p *PacketFarm) Flows() string {
	name := "flows" + number(p.Farm.ID) + "_" + p.Family.Digit
	if _, kind := p.flowKey(); strings.HasSuffix(kind, "inet_proto") {
		name += "p"
	}
	return name
}

// IdleTime is how long a flow of packet modes may be silent.
func IdleTime(l *farm.L4) farm.Seconds {
	if l.IdleTimeout > 0 {
		return l.IdleTimeout
	}
	return farm.DefaultPacketIdleTime
}

// farmRules find the backend of a packet.
func (p *PacketFarm) farmRules(sessions *packetSessions) (out []string) {
	key, kind := p.flowKey()
	flows := p.Flows()
	p.rules.SetOf(NetdevID(flows), func() *nft.Set {
		return &nft.Set{Type: kind, Data: "mark", Learned: true, Owner: p.Farm.ID,
			Options: fmt.Sprintf("flags dynamic,timeout; size %d; ", maxFlows)}
	})
	if p.L4.Protocol == farm.L4All {
		out = append(out, p.plain()...)
	}
	if p.Family == V6 {
		out = append(out, "meta mark set "+key, "meta mark set meta mark map @"+flows)
	} else {
		out = append(out, "meta mark set 0", "meta mark set "+key+" map @"+flows)
	}
	if !p.delivers() {
		return append(out, "goto refuse")
	}
	// An element that names a backend of the past has to go: updating keeps it.
	out = append(out, "meta mark vmap @send", "delete @"+flows+" { "+key+" : meta mark }")
	out = append(out, p.midway(p.Farm)...)
	const deliver = "meta mark @opened meta mark vmap @open"
	if sessions != nil {
		out = append(out, sessions.lookup(deliver)...)
	}
	if p.L4.Logs {
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

// delivers reports whether any packet can be delivered at all.
func (p *PacketFarm) delivers() bool {
	for i := range p.states {
		if p.states[i].Known {
			return true
		}
	}
	return false
}

// mark sets the mark of one of the backends.
func (p *PacketFarm) mark(chosen []*State) []string {
	out := p.choose(chosen)
	for i := range out {
		out[i] = strings.Replace(out[i], "ct mark set ", "meta mark set ", 1)
	}
	return out
}

// Plain is for what has no ports, of a farm that takes everything: with dsr it
// goes where the client's address leads, with stateless_dnat, whose answers are
// recognised by ports, it stays here. ICMPv6 does always: neighbours ask by it.
func (p *PacketFarm) plain() []string {
	chosen := p.chosen()
	if p.L4.NAT == farm.NATStateless || len(chosen) == 0 {
		return []string{"meta l4proto != { tcp, udp, sctp } accept"}
	}
	other := *p
	l4 := *p.L4
	l4.Algorithm = farm.L4HashSrc
	other.L4 = &l4
	chain := p.chain(fmt.Sprintf("plain%d", p.Farm.ID))
	chain.Rules = append(other.mark(chosen), "meta mark vmap @sendwire")
	return []string{"meta l4proto ipv6-icmp accept", "meta l4proto != { tcp, udp, sctp } goto " + fmt.Sprintf("plain%d", p.Farm.ID)}
}

// backend adds the way to one backend.
func (p *PacketFarm) backend(s *State, sessions *packetSessions) {
	mark, place := MarkText(s.ID), p.places[s.ID]
	for _, counted := range []string{"opened", "forth"} {
		p.netdevSet(counted, "mark", "", "counter; ", mark, nft.Element{State: "counter"})
	}
	first := backendChain(s.ID)
	if p.L4.NAT == farm.NATStateless {
		first = openChain(s.ID)
	}
	p.netdevSet("open", "mark", "verdict", "", mark, nft.Element{Value: "goto " + first})
	p.netdevSet("send", "mark", "verdict", "", mark, nft.Element{Value: "goto " + backendChain(s.ID)})
	p.netdevSet("sendwire", "mark", "verdict", "", mark, nft.Element{Value: "goto " + wireChain(s.ID)})
	p.rules.SetOf(NetdevID("fragments"), func() *nft.Set {
		return &nft.Set{Type: "mark", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 65536; "}
	})
	key, _ := p.flowKey()
	rules := []string{
		"meta mark @forth",
		fmt.Sprintf("update @%s { %s timeout %ds : meta mark }", p.Flows(), key, IdleTime(p.L4)),
	}
	if sessions != nil {
		rules = append(rules, sessions.touch())
	}
	rules = append(rules, fragment(p.Family))
	wire := []string{}
	if p.L4.NAT == farm.NATStateless {
		rules = append(rules, p.forth(s)...)
		wire = append(wire, p.Family.ip+" daddr set "+s.Addr.Unmap().String())
	}
	if m := s.Mark; m != 0 || p.L4.Mark != 0 {
		if m == 0 {
			m = p.L4.Mark
		}
		wire = append(wire, "meta mark set "+nft.Mark(m))
	}
	wire = append(wire, "ether daddr set "+place.MAC.String(), "ether saddr set "+place.Own.String(), "fwd to "+quoted(place.Interface))
	p.chain(backendChain(s.ID)).Rules = append(rules, "goto "+wireChain(s.ID))
	p.chain(wireChain(s.ID)).Rules = wire
}

// fragmentKey is what the fragments of a datagram have in common, hashed.
func fragmentKey(f *family) string {
	if f == V6 {
		return "jhash ip6 saddr . ip6 daddr . frag id " + hashes
	}
	return "jhash ip saddr . ip daddr . ip id " + hashes
}

// fragment remembers where the first fragment of a datagram goes: the others
// have no ports.
func fragment(f *family) string {
	first := "ip frag-off & 0x2000 != 0"
	if f == V6 {
		first = "exthdr frag exists"
	}
	return fmt.Sprintf("%s update @fragments { %s timeout %ds : meta mark }", first, fragmentKey(f), fragmentTime)
}

// later matches fragments behind the first.
func later(f *family) string {
	if f == V6 {
		return "exthdr frag exists frag frag-off != 0"
	}
	return "ip frag-off & 0x1fff != 0"
}

// netdevBase adds the chains that take packets from the interfaces.
func (c *compiler) netdevBase() {
	if len(c.wire.fronts) == 0 {
		return
	}
	chain := func(name, hook string, rules ...string) {
		c.rules.ChainOf(NetdevID(name), func() *nft.Chain { return &nft.Chain{Hook: hook, Rules: rules} })
	}
	for _, device := range c.wire.fronts {
		rules := []string{"meta pkttype host goto dispatch"}
		if slices.Contains(c.wire.backs, device) {
			// An answer, which was recognised: its fragments are not a client's.
			rules = slices.Insert(rules, 0, "meta mark & 0xff000000 == 0x5c000000 accept")
		}
		chain("arriving_"+plainName(device), "type filter hook ingress device "+quoted(device)+" priority 101; policy accept;", rules...)
	}
	chain("refuse", "", "meta mark set 0", "meta l4proto tcp reject with tcp reset", "reject with icmpx type port-unreachable")
	var rules []string
	for _, f := range []*family{V4, V6} {
		if !c.wire.families[f] {
			continue
		}
		if c.rules.Sets[NetdevID("fragments")] != nil {
			chain("fragments"+f.Digit, "", "meta mark set "+fragmentKey(f), "meta mark set meta mark map @fragments", "meta mark vmap @sendwire", "meta mark set 0")
			rules = append(rules, later(f)+" goto fragments"+f.Digit)
		}
		for _, look := range []struct{ set, key string }{
			{"ports", f.ip + " daddr . meta l4proto . th dport"},
			{"ranges", f.ip + " daddr . meta l4proto . th dport"},
			{"all", f.ip + " daddr"},
		} {
			if c.rules.Sets[NetdevID(look.set+f.Digit)] != nil {
				rules = append(rules, look.key+" vmap @"+look.set+f.Digit)
			}
		}
	}
	chain("dispatch", "", rules...)
	c.returns()
}
