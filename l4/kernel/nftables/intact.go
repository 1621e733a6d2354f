package nftables

import (
	"context"
	"errors"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// changes counts changes of the packet filter: all, and those made by this program.
type changes struct{ all, own uint32 }

// Intact reports whether the loaded rules are still there: someone else may have flushed or
// replaced rules. If not, the next Carry rebuilds everything. It looks only after rules were
// changed, so it may be called often. Elements are only counted.
func (n *Filter) Intact(ctx context.Context) bool {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	if applied == nil || len(applied.Tables()) == 0 {
		return true
	}
	now := changes{own: n.run.Applied()} // first: an own change in between causes another check
	var err error
	if now.all, err = nft.Generation(); err != nil {
		n.log.Debug("nobody knows whether rules are still there", "error", err)
		return true
	}
	if now == n.seen {
		return true
	}
	changed, err := n.meddled(applied, now)
	switch {
	case errors.Is(err, nft.ErrChanging):
		return true // checked again next time
	case err != nil:
		n.log.Debug("nobody knows whether rules are still there", "error", err)
		return true
	case changed == "":
		n.seen = now
		return true
	}
	n.log.Warn("somebody changed rules of ours, they are made anew", "where", changed)
	n.set(nil)
	return false
}

// meddled names an object of ours that someone else changed, or is empty.
func (n *Filter) meddled(applied *nft.Parts, now changes) (string, error) {
	stamp, err := nft.Stamp(applied.Tables())
	if err != nil {
		return "", err
	}
	if n.seen != (changes{}) && now.all-n.seen.all == now.own-n.seen.own {
		n.stamp = stamp // only we changed rules
		return "", nil
	}
	missing, err := lacking(applied.Whole())
	if err != nil || missing != "" {
		return missing, err
	}
	if now.own == n.seen.own && n.seen != (changes{}) && stamp != n.stamp {
		n.replaced = true
		return "a rule, the policy of a chain, or the flags of the table", nil
	}
	n.stamp = stamp
	return "", nil
}

// sealed reports whether the kernel has want, as far as counting can tell. The seal was
// loaded with all other rules in one transaction, and is deleted with the next.
func sealed(want *nft.Parts) bool {
	seal, any := rules.Seal(want)
	if !any {
		return false
	}
	if elements, err := nft.CountElements(seal); err != nil || elements != 0 {
		return false
	}
	missing, err := lacking(want.Whole())
	return err == nil && missing == ""
}

// lacking returns a part of the rules that differs in the kernel, or an empty string. Sets
// that packets add to are ignored.
func lacking(want *nft.Ruleset) (string, error) {
	count := map[nft.Table]map[string]int{}
	for _, t := range want.Tables() {
		chains, err := nft.CountRules(t)
		if err != nil {
			return "", err
		}
		count[t] = chains
	}
	for id, c := range want.Chains {
		if rules, there := count[id.Table][id.Name]; !there || rules != len(c.Rules) {
			return "chain " + id.String(), nil
		}
	}
	for id, s := range want.Sets {
		if s.Learned {
			continue
		}
		elements, err := nft.CountElements(id)
		if err != nil {
			return "", err
		}
		if elements != len(s.Elements) {
			return "set " + id.String(), nil
		}
	}
	return "", nil
}
