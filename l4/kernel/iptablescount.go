package kernel

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/iptables"
	"github.com/sluicelb/sluice/sysnet/nft"
)

const chainCount = iptables.Prefix + "-COUNT"

func xcountChain(backend uint32) string { return fmt.Sprintf("%s-C%d", iptables.Prefix, backend) }

// buckets is how many chains backends are spread over when there are more: what
// a packet costs is that many comparisons and its share of the backends.
const buckets = 16

// count adds what counts the packets of each backend.
func (x *xtables) count(c *iptables.Chain) {
	t := x.script.Table("mangle")
	c.Add("-m connmark ! --mark %#x/%#x -j RETURN", rules.MarkBase, rules.MarkMask)
	chains := slices.Repeat([]*iptables.Chain{c}, buckets)
	if len(x.counted) > buckets {
		for i := range chains {
			chains[i] = t.Chain(chainCount+strconv.Itoa(i), 0)
			c.Add("-m connmark --mark %#x/%#x -j %s", rules.MarkBase|i, rules.MarkMask|(buckets-1), chains[i].Name)
		}
	}
	for _, id := range x.counted {
		chains[id%buckets].Add("-m connmark --mark %s -j %s", nft.Mark(rules.Mark(id)), xcountChain(id))
		of := t.Chain(xcountChain(id), 0)
		of.Add("-m conntrack --ctdir ORIGINAL")
		of.Add("-m conntrack --ctdir REPLY")
	}
}

// counts adds up what rules counted by backend, of one family.
func (p *Iptables) counts(ctx context.Context, six bool, into map[uint32]ctl.KernelCount) error {
	for _, table := range []string{"nat", "mangle"} {
		rules, err := p.run.Counted(ctx, six, table)
		if err != nil {
			return err
		}
		for _, r := range rules {
			number, counting := strings.CutPrefix(r.Chain, iptables.Prefix+"-C")
			if !counting {
				number = strings.TrimPrefix(number, iptables.Prefix+"-B")
			}
			id, err := strconv.ParseUint(number, 10, 32)
			if err != nil {
				continue
			}
			c := into[uint32(id)]
			switch {
			case counting && strings.Contains(r.Rule, "--ctdir ORIGINAL"):
				forth(&c, r.Packets, r.Bytes)
			case counting:
				back(&c, r.Packets, r.Bytes)
			case strings.HasPrefix(r.Rule, "-j CONNMARK"): // the first packet of each connection passes it
				c.Connections += r.Packets
			}
			into[uint32(id)] = c
		}
	}
	return nil
}

// keepCounts notes what the rules of a family counted, which are about to be
// made anew.
func (p *Iptables) keepCounts(ctx context.Context, six bool) map[uint32]ctl.KernelCount {
	counted := map[uint32]ctl.KernelCount{}
	if err := p.counts(ctx, six, counted); err != nil {
		p.log.Debug("counters are lost", "reason", err)
	}
	return counted
}

// add adds to what was counted by rules that are no more.
func (p *Iptables) add(counted map[uint32]ctl.KernelCount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range counted {
		c.Add(p.past[id])
		p.past[id] = c
	}
}

// Counters implements Filter.
func (p *Iptables) Counters(ctx context.Context) (map[uint32]ctl.KernelCount, error) {
	p.carrying.Lock() // rules that are being made anew would count twice, or not at all
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

// Stands reports whether what was carried is still there: others flush their
// tables, or load them anew, and with them what is ours.
func (p *Iptables) Stands(ctx context.Context) bool {
	lines, err := p.run.Lines(ctx)
	if err != nil {
		return true // nobody knows
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines == nil || slices.Equal(lines, p.lines) {
		return true
	}
	p.log.Warn("somebody changed rules of ours, they are made anew", "rules", len(lines), "were", len(p.lines))
	p.lines = nil
	return false
}

// recentSize is where the kernel says how many clients a list of persistence
// holds, which is 100 unless its module was loaded otherwise.
const recentSize = "/sys/module/xt_recent/parameters/ip_list_tot"

// fewClients is how many clients of a backend persistence ought to know.
const fewClients = 10_000

// Warnings implements Doubtful.
func (p *Iptables) Warnings(f *farm.Farm) []string {
	b, err := os.ReadFile(recentSize)
	n, notNumber := strconv.Atoi(strings.TrimSpace(string(b)))
	if f.L4.Persist != farm.L4PersistSrc || err != nil || notNumber != nil || n >= fewClients {
		return nil
	}
	return []string{fmt.Sprintf("persistence remembers the last %d clients of each backend only: load the kernel module xt_recent with ip_list_tot=%d for more", n, fewClients)}
}
