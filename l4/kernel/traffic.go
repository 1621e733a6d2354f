package kernel

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Traffic is what the kernel counted for the farms it carries; a farm's is the
// sum of its backends.
func (k *Keeper) Traffic(ctx context.Context) (ctl.KernelTraffic, error) {
	counted, err := k.options.Filter.Counters(ctx)
	if err != nil {
		return ctl.KernelTraffic{}, err
	}
	open, err := conntrack.Count(ctx, conntrack.Farms())
	if err != nil {
		return ctl.KernelTraffic{}, err
	}
	farms := k.shown.Load().farms
	out := ctl.KernelTraffic{Farms: map[uint32]ctl.KernelCount{}, Backends: map[uint32]ctl.KernelCount{}}
	for i := range farms {
		f := &farms[i]
		var sum ctl.KernelCount
		for j := range f.L4.Backends {
			id := f.L4.Backends[j].ID
			count := counted[id]
			now := open[rules.Mark(id)]
			count.Established, count.Pending = uint64(now.Established), uint64(now.Pending)
			out.Backends[id] = count
			sum.Add(count)
		}
		out.Farms[f.ID] = sum
	}
	return out, nil
}

// counters are the sets that count, by what they count; suffix ends the keys
// behind the mark.
var counters = []struct {
	table             nft.Table
	set, kind, suffix string
	add               func(c *ctl.KernelCount, packets, bytes uint64)
}{
	{rules.Inet, "opened", "mark", "", func(c *ctl.KernelCount, p, _ uint64) { c.Connections += p }},
	{rules.Inet, "traffic", "mark . ct_dir", " . original", forth},
	{rules.Inet, "traffic", "mark . ct_dir", " . reply", back},
	{rules.Netdev, "opened", "mark", "", func(c *ctl.KernelCount, p, _ uint64) { c.Connections += p }},
	{rules.Netdev, "forth", "mark", "", forth},
	{rules.Netdev, "back", "mark", "", back},
}

func forth(c *ctl.KernelCount, packets, bytes uint64) {
	c.PacketsIn, c.BytesIn = c.PacketsIn+packets, c.BytesIn+bytes
}

func back(c *ctl.KernelCount, packets, bytes uint64) {
	c.PacketsOut, c.BytesOut = c.PacketsOut+packets, c.BytesOut+bytes
}

// counted reads what the sets of rules in force have counted.
func (n *Nftables) counted(ctx context.Context, applied *nft.Ruleset) (map[uint32]ctl.KernelCount, error) {
	out := map[uint32]ctl.KernelCount{}
	if applied == nil {
		return nil, errors.New("it is not known what the kernel has: the last change failed")
	}
	read := map[nft.ID][]nft.Entry{}
	for _, count := range counters {
		id := nft.ID{Table: count.table, Name: count.set}
		if applied.Sets[id] == nil {
			continue
		}
		entries, there := read[id]
		if !there {
			var err error
			if entries, err = n.run.Elements(ctx, id, &nft.Set{Type: count.kind}); err != nil {
				return nil, err
			}
			read[id] = entries
		}
		for _, e := range entries {
			mark, mine := strings.CutSuffix(e.Key, count.suffix)
			if id, ok := backendOf(mark); mine && ok {
				c := out[id]
				count.add(&c, e.Packets, e.Bytes)
				out[id] = c
			}
		}
	}
	return out, nil
}

// backendOf is the backend of a mark as text.
func backendOf(text string) (uint32, bool) {
	mark, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	return uint32(mark &^ rules.MarkMask), err == nil && mark&rules.MarkMask == rules.MarkBase && mark&^rules.MarkMask <= farm.MaxBackendID
}

// Rules is what is in the kernel for one farm, for people to read.
func (k *Keeper) Rules(ctx context.Context, id uint32) (string, error) {
	v, running := k.shown.Load(), false
	for i := range v.farms {
		running = running || (v.farms[i].ID == id && !v.farms[i].Stopped && v.problems[id] == "")
	}
	if !running {
		return "", nil
	}
	return k.options.Filter.Rules(ctx, id)
}

// Rules implements Filter: the chains of the farm as nft lists them, then its
// elements in the maps it shares with others.
func (n *Nftables) Rules(ctx context.Context, owner uint32) (string, error) {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	if applied == nil {
		return "", nil
	}
	var b strings.Builder
	for _, id := range applied.OwnedChains(owner) {
		text, err := n.run.Chain(ctx, id)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	b.WriteString(applied.OwnedElements(owner))
	return b.String(), nil
}

// Objects lists what of ours is in the packet filter.
func (k *Keeper) Objects(ctx context.Context) ([]ctl.KernelObject, error) {
	return k.options.Filter.Objects(ctx)
}

// Objects implements Filter.
func (n *Nftables) Objects(ctx context.Context) ([]ctl.KernelObject, error) {
	there, err := n.run.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var out []ctl.KernelObject
	for _, t := range rules.Tables() {
		if !there[t] {
			continue
		}
		counts, err := n.run.Contents(ctx, t)
		if err != nil {
			return nil, err
		}
		o := ctl.KernelObject{Kind: "table", Name: t.String()}
		var parts []string
		for _, kind := range []string{"chain", "rule", "set", "map", "ct helper"} {
			if counts[kind] > 0 {
				parts = append(parts, strconv.Itoa(counts[kind])+" "+kind+"s")
			}
		}
		o.Detail = strings.Join(parts, ", ")
		out = append(out, o)
	}
	return out, nil
}

// Clean removes everything of ours from the packet filter. It comes back with
// the next Apply.
func (k *Keeper) Clean(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.options.Filter.Carry(ctx, &rules.Input{})
	if err == nil {
		k.end(func(uint32) bool { return true })
		k.farms, k.transparent, k.graced, k.unready, k.cleaned = nil, nil, nil, nil, true
		k.show()
	}
	return err
}
