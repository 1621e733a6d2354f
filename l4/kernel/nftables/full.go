package nftables

import (
	"context"
	"time"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Noted returns the backends noted as full, with the time of the note. It takes some
// microseconds.
func (n *Filter) Noted(context.Context) (map[uint32]time.Time, error) {
	left, err := nft.Expiries(rules.Full())
	now, out := time.Now(), map[uint32]time.Time{}
	for mark, d := range left {
		if id, ok := conntrack.BackendOf(mark); ok {
			out[id] = now.Add(d - rules.FullTime)
		}
	}
	return out, err
}

// Fill corrects the notes by counted connections. It starts nft only for a change.
func (n *Filter) Fill(ctx context.Context, c rules.Counted) error {
	if err := n.hold(ctx, c.Held); err != nil {
		return err
	}
	noted, err := n.Noted(ctx)
	if err != nil {
		return err
	}
	remove, add := outdated(noted, c)
	return n.run.Renew(ctx, rules.Full(), rules.FullSet(), remove, add, rules.FullTime)
}

// outdated returns the notes to remove and to add. A note lasts a while without renewal. One
// that packets renewed since the count began is kept.
func outdated(noted map[uint32]time.Time, c rules.Counted) (remove, add []string) {
	for id, at := range noted {
		switch {
		case c.Room[id] && at.Before(c.At):
			remove = append(remove, rules.MarkText(id))
		case c.Full[id] && time.Since(at) > rules.FullTime/2:
			remove, add = append(remove, rules.MarkText(id)), append(add, rules.MarkText(id))
		}
	}
	for id := range c.Full {
		if _, there := noted[id]; !there {
			add = append(add, rules.MarkText(id))
		}
	}
	return remove, add
}

// hold sets the backends and farms considered full, overriding the kernel's counts. It starts
// nft only for a change and before an element expires.
func (n *Filter) hold(ctx context.Context, ids map[uint32]bool) error {
	held, err := nft.Expiries(rules.Held())
	if err != nil || held == nil {
		return err
	}
	keys, same := map[string]bool{}, len(held) == len(ids)
	for id := range ids {
		keys[rules.MarkText(id)] = true
		same = same && held[rules.Mark(id)] > rules.FullTime/2
	}
	if same {
		return nil
	}
	return n.run.Hold(ctx, rules.Held(), rules.FullSet(), keys, rules.FullTime)
}
