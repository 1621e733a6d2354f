package nft

import (
	"maps"
	"slices"
	"strings"
)

// Two searches of the kernel take time with large transactions. It looks for a set by name in
// a list of all sets, in the order in which they were added. For each rule with an anonymous
// set it walks over the whole transaction so far (nft_set_trans_bind). So sets that many rules
// refer to are added first, and rules with anonymous sets as soon as possible.

// sharedFirst returns the IDs of sets, those without an owner first.
func sharedFirst(sets map[ID]*Set) []ID {
	list := ordered(sets)
	slices.SortStableFunc(list, func(a, b ID) int { return min(1, int(sets[a].Owner)) - min(1, int(sets[b].Owner)) })
	return list
}

// anonymous returns the chains among changed that have rules with anonymous sets.
func anonymous(of *Ruleset, changed map[ID]bool) map[ID]bool {
	out := map[ID]bool{}
	for id := range changed {
		if slices.ContainsFunc(of.Chains[id].Rules, hasAnonymous) {
			out[id] = true
		}
	}
	return out
}

// hasAnonymous reports whether a rule has an anonymous set. Updates of a named set have braces
// too, after its name.
func hasAnonymous(rule string) bool {
	words := strings.Fields(rule)
	for i, word := range words {
		if word == "{" && i > 0 && !strings.HasPrefix(words[i-1], "@") {
			return true
		}
	}
	return false
}

// withTargets returns the chains and those that their rules jump to.
func withTargets(of *Ruleset, chains map[ID]bool) map[ID]bool {
	out := maps.Clone(chains)
	for id := range chains {
		for _, rule := range of.Chains[id].Rules {
			words := strings.Fields(rule)
			for i, word := range words[:max(0, len(words)-1)] {
				if word != "goto" && word != "jump" {
					continue
				}
				if to := (ID{id.Table, strings.TrimRight(words[i+1], ",}")}); of.Chains[to] != nil {
					out[to] = true
				}
			}
		}
	}
	return out
}
