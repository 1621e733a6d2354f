package rules

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// wire collects the requirements of the base chains.
type wire struct {
	fronts, backs []string // interfaces
	families      map[*family]bool
	returning     map[*family]bool // with replies to rewrite
	// origins holds the addresses of backends with replies to rewrite. Farms may share some.
	origins map[*family]map[string]uint32 // by address, the last of their farms
}

// merge adds the requirements of another farm.
func (w *wire) merge(o *wire) {
	for _, d := range o.fronts {
		if !slices.Contains(w.fronts, d) {
			w.fronts = append(w.fronts, d)
		}
	}
	for _, d := range o.backs {
		if !slices.Contains(w.backs, d) {
			w.backs = append(w.backs, d)
		}
	}
	w.families, w.returning = union(w.families, o.families), union(w.returning, o.returning)
	for f, list := range o.origins {
		for address, owner := range list {
			w.origin(f, address, owner)
		}
	}
}

// origin adds the address of a backend with replies to rewrite.
func (w *wire) origin(f *family, address string, owner uint32) {
	if w.origins == nil {
		w.origins = map[*family]map[string]uint32{}
	}
	if w.origins[f] == nil {
		w.origins[f] = map[string]uint32{}
	}
	w.origins[f][address] = owner
}

// origins adds the set of these addresses.
func (c *compiler) origins() {
	for f, list := range c.wire.origins {
		id := netdevID("origins" + f.digit)
		set := c.rules.SetOf(id, func() *nft.Set { return &nft.Set{Type: f.address} })
		for address, owner := range list {
			set.Elements[address] = nft.Element{Owner: owner}
		}
		c.sets[id] = true
	}
}

func (w *wire) use(p *packetFarm) {
	for _, d := range p.devices {
		if !slices.Contains(w.fronts, d) {
			w.fronts = append(w.fronts, d)
		}
	}
	if w.families == nil {
		w.families, w.returning = map[*family]bool{}, map[*family]bool{}
	}
	w.families[p.family] = true
	if p.l4.NAT != farm.NATStateless {
		return
	}
	w.returning[p.family] = true
	for _, hop := range p.hops {
		if !slices.Contains(w.backs, hop.Interface) {
			w.backs = append(w.backs, hop.Interface)
		}
	}
}

// netdevBase adds the chains that take packets from interfaces.
func (c *compiler) netdevBase() {
	if len(c.wire.fronts) == 0 {
		return
	}
	c.origins()
	chain := func(name, hook string, rules ...string) {
		c.rules.ChainOf(netdevID(name), func() *nft.Chain { return &nft.Chain{Hook: hook, Rules: rules} })
	}
	for _, device := range c.wire.fronts {
		rules := []string{"meta pkttype host goto dispatch"}
		if slices.Contains(c.wire.backs, device) {
			// A recognised reply: its fragments are not a client's.
			rules = slices.Insert(rules, 0, isOurs("meta mark", "==")+" accept")
		}
		chain("arriving_"+plainName(device), "type filter hook ingress device "+quoted(device)+" priority 101; policy accept;", rules...)
	}
	chain("refuse", "", "meta mark set 0", "meta l4proto tcp reject with tcp reset", "reject with icmpx type port-unreachable")
	var rules []string
	for _, f := range []*family{v4, v6} {
		if !c.wire.families[f] {
			continue
		}
		if c.sets[netdevID("fragments")] {
			chain("fragments"+f.digit, "", "meta mark set "+fragmentKey(f), "meta mark set meta mark map @fragments", "meta mark vmap @sendwire", "meta mark set 0")
			rules = append(rules, later(f)+" goto fragments"+f.digit)
		}
		for _, look := range []struct{ set, key string }{
			{"ports", f.ip + " daddr . meta l4proto . th dport"},
			{"ranges", f.ip + " daddr . meta l4proto . th dport"},
			{"all", f.ip + " daddr"},
		} {
			if c.sets[netdevID(look.set+f.digit)] {
				rules = append(rules, look.key+" vmap @"+look.set+f.digit)
			}
		}
	}
	chain("dispatch", "", rules...)
	c.returns()
}

// fragmentTime is how long the rest of a datagram may be in transit, in seconds.
const fragmentTime = 30

// fragmentKey returns a hash of the fields all fragments of a datagram share.
func fragmentKey(f *family) string {
	if f == v6 {
		return "jhash ip6 saddr . ip6 daddr . frag id " + hashes
	}
	return "jhash ip saddr . ip daddr . ip id " + hashes
}

// fragment stores the destination of a datagram's first fragment, because the others have no
// ports.
func fragment(f *family) string {
	first := "ip frag-off & 0x2000 != 0"
	if f == v6 {
		first = "exthdr frag exists"
	}
	return fmt.Sprintf("%s update @fragments { %s timeout %ds : meta mark }", first, fragmentKey(f), fragmentTime)
}

// later matches fragments after the first.
func later(f *family) string {
	if f == v6 {
		return "exthdr frag exists frag frag-off != 0"
	}
	return "ip frag-off & 0x1fff != 0"
}
