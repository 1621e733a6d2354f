package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/route"
)

// base adds the base chains. They contain only the parts that some farm needs.
func (c *compiler) base() {
	if !c.used.any && !c.in.Hold {
		return
	}
	chain := func(name, hook string, rules ...string) {
		c.rules.ChainOf(inetID(name), func() *nft.Chain { return &nft.Chain{Hook: hook, Rules: rules} })
	}
	chain("prerouting", "type nat hook prerouting priority -100; policy accept;", c.dispatch()...)
	chain("output", "type nat hook output priority -100; policy accept;", c.dispatch()...)
	if sources := c.sources(); len(sources) > 0 {
		chain("postrouting", "type nat hook postrouting priority 100; policy accept;", sources...)
	}
	if c.has("traffic") {
		chain("traffic", "type filter hook prerouting priority -99; policy accept;", c.traffic()...)
	}
	if c.used.refresh {
		// Before addresses are rewritten, because keys use the addresses that the client
		// sends.
		chain("sessions", "type filter hook prerouting priority -150; policy accept;", others(), "ct direction original ct mark vmap @refresh")
	}
	chain("refuse", "", "meta l4proto tcp reject with tcp reset", "reject with icmpx type port-unreachable")
	if c.has("full") {
		chain("note", "", noteFull)
	}
	c.retries()
	for _, f := range []*family{v4, v6} {
		if c.used.families[f] {
			chain("deliver"+f.digit, "", c.deliver(f)...)
		}
	}
}

func (c *compiler) has(set string) bool { return c.sets[inetID(set)] }

// dispatch finds the farm, by the most precise key first. Expected connections that a helper
// does not deliver itself, such as SANE's, come before that. They go to the backend of their
// control connection, whose mark they have.
func (c *compiler) dispatch() (out []string) {
	for _, f := range []*family{v4, v6} {
		if c.has("data" + f.digit) {
			out = append(out, "ct state related dnat "+f.ip+" to ct mark map @data"+f.digit)
		}
	}
	look := func(set, guard, key string) {
		if c.has(set) {
			out = append(out, strings.TrimSpace(guard+" "+key+" vmap @"+set))
		}
	}
	for _, f := range []*family{v4, v6} {
		address := f.ip + " daddr"
		look("ports"+f.digit, "", address+" . meta l4proto . th dport")
		look("ranges"+f.digit, "", address+" . meta l4proto . th dport")
		local := "meta nfproto " + f.nfproto + " fib daddr type local"
		look("localports"+f.digit, local, "meta l4proto . th dport")
		look("localranges"+f.digit, local, "meta l4proto . th dport")
		look("all"+f.digit, "", address)
	}
	return out
}

// deliver rewrites the destination by the mark, which ends the packet's way through this
// table. It returns if the mark has none: the backend is not usable.
func (c *compiler) deliver(f *family) (out []string) {
	target, address := c.has("target"+f.digit), c.has("address"+f.digit)
	if c.has("opened") {
		out = append(out, "ct mark @opened")
	}
	// The kernel requires a protocol match before a port is rewritten. A comparison is
	// faster than a set lookup, and most traffic is TCP.
	for _, t := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP, farm.L4SCTP} {
		if target && c.used.transports[t] {
			out = append(out, "meta l4proto "+string(t)+" dnat "+f.ip+" addr . port to ct mark map @target"+f.digit)
		}
	}
	if address {
		out = append(out, "dnat "+f.ip+" to ct mark map @address"+f.digit)
	}
	return out
}

// others accepts packets of other connections after one comparison.
func others() string { return isOurs("ct mark", "!=") + " accept" }

// sources rewrites the source of delivered packets. The chain exists only if a farm needs it,
// because its cost for every new connection is that of a rule. Marks of others are in no set,
// so a single lookup is enough.
//
// The kernel tracks connections only while some rule needs that, and only tracked ones
// reach the chains above. Usually the counting rules need it. They are absent if no farm
// has a backend, and then a rule with no other effect enables tracking.
func (c *compiler) sources() (out []string) {
	if !c.has("traffic") {
		out = append(out, others())
	}
	for _, f := range []*family{v4, v6} {
		if c.has("from" + f.digit) {
			out = append(out, "snat "+f.ip+" to ct mark map @from"+f.digit)
		}
	}
	if c.has("masqueraded") {
		out = append(out, "ct mark @masqueraded masquerade")
	}
	return out
}

// traffic is passed by every packet, so it is as short as possible. A lookup in the set that
// counts by mark and direction is faster than any test before it.
func (c *compiler) traffic() []string {
	out := []string{"ct mark . ct direction @traffic"}
	if c.used.marks {
		out = append(out, others(), "ct direction original meta mark set ct mark map @marks")
	}
	return out
}

// transparent marks replies of backends to client addresses if a socket of the engine
// expects them. The mark makes the kernel deliver them locally (sysnet/route).
func (c *compiler) transparent() {
	backends := map[*family][]string{}
	for i := range c.in.Transparent {
		f := &c.in.Transparent[i]
		for j := range f.L4.Backends {
			addr := f.L4.Backends[j].Addr.Unmap()
			f := familyOf(addr)
			backends[f] = append(backends[f], addr.String())
		}
	}
	var rules []string
	for _, f := range []*family{v4, v6} {
		list := slices.Compact(slices.Sorted(slices.Values(backends[f])))
		if len(list) > 0 {
			rules = append(rules, fmt.Sprintf("%s saddr { %s } meta l4proto tcp socket transparent 1 meta mark set 0x%08x", f.ip, strings.Join(list, ", "), route.Mark()))
		}
	}
	if len(rules) > 0 {
		c.rules.ChainOf(inetID("transparent"), func() *nft.Chain {
			return &nft.Chain{Hook: "type filter hook prerouting priority -150; policy accept;", Rules: rules}
		})
	}
}
