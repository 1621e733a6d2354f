package iptables

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/iptables"
	"github.com/sluicelb/sluice/sysnet/nft"
)

const countersChain = "-COUNT"

func countChain(backend uint32) string { return ownChain(fmt.Sprintf("-C%d", backend)) }

// buckets is the number of chains many backends are spread over. A packet costs that many
// comparisons plus one per backend of its chain.
const buckets = 16

// count adds the rules that count the packets of each backend.
func (x *tables) count(c *iptables.Chain) {
	t := x.script.Table("mangle")
	c.Add("-m connmark ! --mark %#x/%#x -j RETURN", claim.Own().Mark(), claim.OwnMask)
	chains := slices.Repeat([]*iptables.Chain{c}, buckets)
	if len(x.counted) > buckets {
		for i := range chains {
			chains[i] = t.Chain(ownChain(countersChain)+strconv.Itoa(i), 0)
			c.Add("-m connmark --mark %#x/%#x -j %s", claim.Own().Mark()|uint32(i), claim.OwnMask|(buckets-1), chains[i].Name)
		}
	}
	for _, id := range x.counted {
		chains[id%buckets].Add("-m connmark --mark %s -j %s", nft.Mark(rules.Mark(id)), countChain(id))
		of := t.Chain(countChain(id), 0)
		of.Add("-m conntrack --ctdir ORIGINAL")
		of.Add("-m conntrack --ctdir REPLY")
	}
}

// counts sums the rule counters of one address family by backend.
func (p *Filter) counts(ctx context.Context, six bool, into map[uint32]ctl.KernelCount) error {
	for _, table := range []string{"nat", "mangle"} {
		rules, err := p.run.Counted(ctx, six, table)
		if err != nil {
			return err
		}
		for _, r := range rules {
			number, counting := strings.CutPrefix(r.Chain, ownChain("-C"))
			if !counting {
				number = strings.TrimPrefix(number, ownChain("")+"-B")
			}
			id, err := strconv.ParseUint(number, 10, 32)
			if err != nil {
				continue
			}
			c := into[uint32(id)]
			switch {
			case counting && strings.Contains(r.Rule, "--ctdir ORIGINAL"):
				c.CountIn(r.Packets, r.Bytes)
			case counting:
				c.CountOut(r.Packets, r.Bytes)
			case strings.HasPrefix(r.Rule, "-j CONNMARK"): // passed by the first packet of each connection
				c.Connections += r.Packets
			}
			into[uint32(id)] = c
		}
	}
	return nil
}

// keepCounts returns the counters of an address family before its rules are rebuilt.
func (p *Filter) keepCounts(ctx context.Context, six bool) map[uint32]ctl.KernelCount {
	counted := map[uint32]ctl.KernelCount{}
	if err := p.counts(ctx, six, counted); err != nil {
		p.log.Debug("counters are lost", "reason", err)
	}
	return counted
}

// add adds counters of deleted rules to the past.
func (p *Filter) add(counted map[uint32]ctl.KernelCount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range counted {
		c.Add(p.past[id])
		p.past[id] = c
	}
}

// Counters returns the counters by backend.
func (p *Filter) Counters(ctx context.Context) (map[uint32]ctl.KernelCount, error) {
	p.carrying.Lock() // rules being rebuilt would count twice, or not at all
	defer p.carrying.Unlock()
	p.mu.Lock()
	out := maps.Clone(p.past)
	p.mu.Unlock()
	for i := range 2 {
		if !p.has[i] {
			continue
		}
		if err := p.counts(ctx, i == 1, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}
