package nftables

import (
	"context"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Rules returns a farm's rules in the kernel: its chains as nft lists them, then its
// elements in shared maps.
func (n *Filter) Rules(ctx context.Context, owner uint32) (string, error) {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	if applied == nil {
		return "", nil
	}
	var b strings.Builder
	whole := applied.Whole()
	for _, id := range whole.OwnedChains(owner) {
		text, err := n.run.Chain(ctx, id)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	b.WriteString(whole.OwnedElements(owner))
	return b.String(), nil
}

// Objects lists the objects of this program in the packet filter.
func (n *Filter) Objects(ctx context.Context) ([]ctl.KernelObject, error) {
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
