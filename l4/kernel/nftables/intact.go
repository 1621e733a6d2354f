package nftables

import (
	"context"
	"errors"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// changes counts those of the packet filter: all, and our own.
type changes struct{ all, own uint32 }

// Intact reports whether what was carried is still there; somebody else may have
// flushed all rules, or some. If not, the next Carry makes everything anew. It
// looks only after somebody else has changed rules, and then counts: who puts
// something else in place of a rule is not found out.
func (n *Filter) Intact(ctx context.Context) bool {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	if applied == nil || len(applied.Tables()) == 0 {
		return true
	}
	now := changes{own: n.run.Applied()} // first: one of ours in between makes us look
	var err error
	if now.all, err = nft.Generation(); err != nil {
		n.log.Debug("nobody knows whether rules are still there", "error", err)
		return true
	}
	if n.seen != (changes{}) && now.all-n.seen.all == now.own-n.seen.own {
		return true
	}
	missing, err := lacking(applied)
	switch {
	case errors.Is(err, nft.ErrChanging):
		return true // the next time will do
	case err != nil:
		n.log.Debug("nobody knows whether rules are still there", "error", err)
		return true
	case missing == "":
		n.seen = now
		return true
	}
	n.log.Warn("somebody changed rules of ours, they are made anew", "where", missing)
	n.set(nil)
	return false
}

// sealed reports whether the kernel has want, as far as that can be counted: its
// seal came with all the rest in one transaction, and goes with the next.
func sealed(want *nft.Ruleset) bool {
	seal, any := rules.Seal(want)
	if !any {
		return false
	}
	if elements, err := nft.CountElements(seal); err != nil || elements != 0 {
		return false
	}
	missing, err := lacking(want)
	return err == nil && missing == ""
}

// lacking is a part of the rules that is not in the kernel as it should be; empty
// when all is. Sets that packets add to are not looked at.
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
