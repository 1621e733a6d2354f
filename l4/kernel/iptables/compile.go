package iptables

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/iptables"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// The chains, see the package documentation.
const (
	dispatchChain = ""
	helpersChain  = "-HELPERS"
	marksChain    = "-MARKS"
	refuseChain   = "-REFUSE"
	sourceChain   = "-SOURCE"
)

// ownChain returns the name of a chain of this instance.
func ownChain(name string) string { return claim.Own().Chains() + name }

// refusedMark returns the mark of a farm's refused connections. It differs from the marks of
// backends and farms.
func refusedMark(farm uint32) uint32 { return claim.Own().Mark() | 0xe0000 | farm }

// refusedMask covers the common bits of marks of refused connections.
const refusedMask = 0xffff0000

// compile returns the scripts for the farms of in, for IPv4 and IPv6.
func compile(in *rules.Input) (scripts [2]*iptables.Script, problems map[uint32]string) {
	problems = map[uint32]string{}
	var c [2]*tables
	for i := range c {
		scripts[i] = &iptables.Script{}
		c[i] = &tables{script: scripts[i]}
	}
	for i := range in.Farms {
		f := &in.Farms[i]
		if !f.InKernel() {
			continue
		}
		family := 0
		if f.VIP.Is6() && !f.VIP.Is4In6() {
			family = 1
		}
		g := &compiledFarm{tables: c[family], farm: f, l4: f.L4, six: family == 1, states: in.States(f.L4), in: in}
		if f.Stopped {
			g.keepClients()
			c[0].keepFlushed(in, f)
			continue
		}
		if err := g.check(); err != nil {
			problems[f.ID] = err.Error()
			c[0].keepFlushed(in, f)
			continue
		}
		g.compile()
	}
	for i := range in.Recorded {
		if f := &in.Recorded[i]; f.InKernel() {
			c[0].keepFlushed(in, f)
		}
	}
	for i := range c {
		c[i].finish()
	}
	return scripts, problems
}

// tables is one address family during compilation. Dispatch rules are sorted by precision.
type tables struct {
	script   *iptables.Script
	dispatch [3][]string
	counted  []uint32          // backends
	kept     []*iptables.Chain // of stopped farms, without packets
}

// finish adds the chains shared by all farms.
func (x *tables) finish() {
	var rules []string
	for _, list := range x.dispatch {
		rules = append(rules, list...)
	}
	if len(rules) == 0 {
		x.script.Tables = nil
	} else {
		x.hook(rules)
	}
	if len(x.kept) > 0 {
		nat := x.script.Table("nat")
		nat.Chains = append(nat.Chains, x.kept...)
	}
}

// hook adds the jumps to the dispatch rules and to the chains that depend on them.
func (x *tables) hook(rules []string) {
	hooks := func(table, to string, from ...string) *iptables.Chain {
		t := x.script.Table(table)
		for _, f := range from {
			t.Hooks = append(t.Hooks, iptables.Hook{From: f, To: to})
		}
		return t.Chain(to, 0)
	}
	for table, chain := range map[string]string{"raw": ownChain(helpersChain), "mangle": ownChain(marksChain)} {
		if x.script.Table(table).Has(chain) {
			hooks(table, chain, "PREROUTING")
		}
	}
	if len(x.counted) > 0 {
		x.count(hooks("mangle", ownChain(countersChain), "POSTROUTING", "INPUT"))
	}
	refuse := hooks("filter", ownChain(refuseChain), "INPUT", "FORWARD", "OUTPUT")
	// The other direction carries the rejection itself.
	refuse.Add("-p tcp -m connmark --mark %#x/%#x -m conntrack --ctdir ORIGINAL -j REJECT --reject-with tcp-reset", refusedMark(0), uint32(refusedMask))
	refuse.Add("-m connmark --mark %#x/%#x -m conntrack --ctdir ORIGINAL -j REJECT", refusedMark(0), uint32(refusedMask))
	hooks("nat", ownChain(dispatchChain), "PREROUTING", "OUTPUT").Rules = rules
	if len(x.script.Table("nat").Chain(ownChain(sourceChain), 0).Rules) > 0 {
		hooks("nat", ownChain(sourceChain), "POSTROUTING")
	}
}

// compiledFarm is a farm during compilation for iptables.
type compiledFarm struct {
	*tables
	in     *rules.Input
	farm   *farm.Farm
	l4     *farm.L4
	six    bool
	states []rules.State
}

// check returns why iptables cannot carry the farm.
func (g *compiledFarm) check() error {
	const needs = "needs nf_tables, which this kernel has not: "
	l := g.l4
	switch {
	case l.NAT != farm.NATMasquerade && l.NAT != farm.NATTarget:
		return fmt.Errorf(needs+"nattype %s", l.NAT)
	case l.Persist != farm.L4PersistNone && l.Persist != farm.L4PersistSrc:
		return fmt.Errorf(needs+"persistence %s (srcip works without)", l.Persist)
	case l.MaxConnections > 0:
		return errors.New(needs + "maxconnections")
	case l.Protocol == farm.L4All && g.farm.VIP.IsUnspecified():
		return errors.New("all ports of all addresses of this machine cannot be taken: they would include its own")
	}
	for i := range l.Backends {
		b := &l.Backends[i]
		switch {
		case b.ConnLimit > 0:
			return fmt.Errorf(needs+"max_conns of backend %s", b.Host)
		case len(b.Sessions) > 0:
			return fmt.Errorf(needs+"static sessions of backend %s", b.Host)
		}
	}
	return nil
}

// farmPrefix begins the name of a farm's chain.
const farmPrefix = "-F"

func (g *compiledFarm) farmChain() string { return ownChain(fmt.Sprintf(farmPrefix+"%d", g.farm.ID)) }
func backendChain(backend uint32) string  { return ownChain(fmt.Sprintf("-B%d", backend)) }

func (g *compiledFarm) compile() {
	nat := g.script.Table("nat")
	chain := nat.Chain(g.farmChain(), g.farm.ID)
	g.refuseMidStream(chain)
	if g.l4.Logs {
		limit := cmp.Or(g.l4.LogLimit, farm.DefaultL4LogLimit)
		chain.Add("-m limit --limit %d/sec --limit-burst %d -j LOG --log-level 6 --log-prefix %q", min(limit, 10_000), min(max(limit, 5), 10_000), shortPrefix(rules.LogPrefix(g.farm)))
	}
	for i := range g.states {
		if s := &g.states[i]; s.Known {
			g.backend(s)
			if g.persists() {
				chain.Add("-m recent --name %s --update --seconds %d --rsource -j %s", listOf(s.ID), max(1, g.l4.TTL), backendChain(s.ID))
			}
		}
	}
	if g.persists() { // here the client has no usable backend
		for i := range g.states {
			chain.Add("-m recent --name %s --remove --rsource", listOf(g.states[i].ID))
		}
	}
	g.choose(chain)
	chain.Add("-j CONNMARK --set-xmark %#x/0xffffffff", refusedMark(g.farm.ID))
	g.keys()
	if g.l4.Protocol.Helper() {
		helpers := g.script.Table("raw").Chain(ownChain(helpersChain), 0)
		for _, k := range g.matches() {
			helpers.Add("%s -j CT --helper %s", k.text, helperName(g.l4.Protocol, k.transport))
		}
	}
}

// refuseMidStream refuses packets that do not begin a connection, as in package rules.
func (g *compiledFarm) refuseMidStream(chain *iptables.Chain) {
	if g.in.Flushed[g.farm.ID] {
		chain.Add("-p tcp ! --syn -j CONNMARK --set-xmark %#x/0xffffffff", refusedMark(g.farm.ID))
		chain.Add("-p tcp ! --syn -j RETURN")
	}
}

// keepFlushed records that connections of a farm were ended that is stopped or not carried, see
// Remembered. The chain gets no packets. The tables of IPv4 hold it for both families, because
// a kernel may be without IPv6.
func (x *tables) keepFlushed(in *rules.Input, f *farm.Farm) {
	g := &compiledFarm{tables: x, farm: f, in: in}
	c := &iptables.Chain{Name: g.farmChain(), Owner: f.ID}
	if g.refuseMidStream(c); len(c.Rules) > 0 {
		g.kept = append(g.kept, c)
	}
}

// keepClients keeps the client lists of a stopped farm's backends: the kernel keeps a list
// while some rule names it.
func (g *compiledFarm) keepClients() {
	if !g.persists() {
		return
	}
	c := &iptables.Chain{Name: ownChain(fmt.Sprintf("-K%d", g.farm.ID)), Owner: g.farm.ID}
	for i := range g.states {
		if s := &g.states[i]; s.Maintenance != farm.MaintenanceCut {
			c.Add("-m recent --name %s --rcheck --rsource", listOf(s.ID))
		}
	}
	g.kept = append(g.kept, c)
}

func (g *compiledFarm) persists() bool { return g.l4.Persist == farm.L4PersistSrc }

// listOf returns the name of a backend's client list.
func listOf(backend uint32) string {
	if table := claim.Own().Table(); claim.Own() != 0 {
		return fmt.Sprintf("%s_%d", table, backend)
	}
	return fmt.Sprintf("sluice%d", backend)
}

// shortPrefix cuts a prefix to the limit of iptables.
func shortPrefix(s string) string { return s[:min(len(s), 28)] }

// backend adds the chain of a backend, which ends with its address.
func (g *compiledFarm) backend(s *rules.State) {
	nat := g.script.Table("nat")
	c := nat.Chain(backendChain(s.ID), g.farm.ID)
	mark := nft.Mark(rules.Mark(s.ID))
	g.counted = append(g.counted, s.ID)
	c.Add("-j CONNMARK --set-xmark %s/0xffffffff", mark)
	routing := cmp.Or(s.Mark, g.l4.Mark)
	if g.hashes() || routing != 0 { // the choice left a value in the mark
		c.Add("-j MARK --set-xmark %#x/0xffffffff", routing)
	}
	if routing != 0 {
		g.script.Table("mangle").Chain(ownChain(marksChain), 0).Add("-m connmark --mark %s -j MARK --set-xmark %#x/0xffffffff", mark, routing)
	}
	if g.persists() {
		c.Add("-m recent --name %s --set --rsource", listOf(s.ID))
	}
	address := s.Addr.Unmap().String()
	if s.Port != 0 && g.l4.Protocol != farm.L4All {
		to := fmt.Sprintf("%s:%d", address, s.Port)
		if g.six {
			to = fmt.Sprintf("[%s]:%d", address, s.Port)
		}
		for _, p := range g.l4.Protocol.Transports() {
			c.Add("-p %s -j DNAT --to-destination %s", p, to)
		}
	} else {
		c.Add("-j DNAT --to-destination %s", address)
	}
	if g.l4.NAT != farm.NATMasquerade {
		return
	}
	source := s.Source
	if !source.IsValid() {
		source = g.l4.Source
	}
	how := "-j MASQUERADE"
	if source.IsValid() && source.Unmap().Is6() == g.six {
		how = "-j SNAT --to-source " + source.Unmap().String()
	}
	nat.Chain(ownChain(sourceChain), 0).Add("-m connmark --mark %s %s", mark, how)
}

// helperName returns the name of a protocol's connection tracking helper.
func helperName(p, transport farm.L4Protocol) string {
	if p == farm.L4H323 {
		if transport == farm.L4UDP {
			return "RAS"
		}
		return "Q.931"
	}
	return string(p)
}
