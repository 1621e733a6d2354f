package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/route"
)

// base adds the chains everything starts from. They hold no more than the
// farms need, and nothing is there without a farm.
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
		// Before addresses are rewritten: keys are those the client uses.
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

func (c *compiler) has(set string) bool { return c.rules.Sets[inetID(set)] != nil }

// dispatch finds the farm: the most precise key first. Before that come
// connections a helper expects and does not deliver itself, as that of SANE: they
// go to the backend of the one they were named in, whose mark they have.
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

// deliver rewrites the destination to that of the mark, which ends the way of
// the packet through this table. It comes back when there is none: the backend
// cannot be used.
func (c *compiler) deliver(f *family) (out []string) {
	target, address := c.has("target"+f.digit), c.has("address"+f.digit)
	if c.has("opened") {
		out = append(out, "ct mark @opened")
	}
	// Before a port is rewritten the kernel wants its protocol asked for. Comparing
	// takes less than a look into a set of them, and most is TCP.
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

// others lets packets of other connections pass at the price of one comparison.
func others() string { return isOurs("ct mark", "!=") + " accept" }

// sources rewrites the source of what is delivered; without such farms there is
// no chain for it, which costs every new connection as much as a rule. Marks of
// others are in no set, so nothing asks for ours first: one look says no, too.
//
// The kernel tracks connections while some rule asks for that, and only those
// that are tracked meet the chains above. Where nothing is counted because no
// farm has a backend, a rule that does nothing does that.
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

// traffic is what every packet passes, so it is as short as can be: a look into
// the set that counts by mark and direction takes less than any question before
// it.
func (c *compiler) traffic() []string {
	out := []string{"ct mark . ct direction @traffic"}
	if c.used.marks {
		out = append(out, others(), "ct direction original meta mark set ct mark map @marks")
	}
	return out
}

// transparent marks what backends answer to addresses of clients, if a socket of
// the engine waits for it: by that mark it is taken for local (sysnet/route).
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
