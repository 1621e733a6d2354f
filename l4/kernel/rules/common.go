package rules

import (
	"maps"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// common is the result of compiling farms together: the base chains. Most changes of a farm
// do not concern it.
type common struct {
	farms []*compiled // without problems, in the order of the input
	rules *nft.Ruleset
	// Everything else that the base chains depend on.
	own         claim.Slot
	hold        bool
	transparent []farm.Farm
}

// together compiles the base chains, and adds the farms that conflict with others to problems.
func together(in *Input, list []*compiled, problems map[uint32]string) *common {
	c := &compiler{in: in, rules: &nft.Ruleset{}, sets: map[nft.ID]bool{}}
	taken, shapes := occupied{keys: map[nft.ID]map[string]uint32{}, spans: map[string][]*span{}}, map[string]bool{}
	for _, one := range list {
		f := &one.from.farm
		if one.problem != "" {
			problems[f.ID] = one.problem
			continue
		}
		if err := taken.take(Home(f.L4.NAT), f.ID, one.entries); err != nil {
			problems[f.ID] = err.Error()
			continue
		}
		c.used.merge(&one.used)
		c.wire.merge(&one.wire)
		if !shapes[one.shape] {
			shapes[one.shape] = true
			for _, id := range one.part.SharedSets() {
				c.sets[id] = true
			}
		}
	}
	c.base()
	c.netdevBase()
	c.transparent()
	return &common{rules: c.rules, own: claim.Own(), hold: in.Hold, transparent: in.Transparent}
}

// fits reports whether together would have the same result for these farms, without problems.
func (b *common) fits(in *Input, list []*compiled) bool {
	same := func(x, y farm.Farm) bool { return x.Same(&y) }
	if b.own != claim.Own() || b.hold != in.Hold || len(list) != len(b.farms) ||
		!slices.EqualFunc(b.transparent, in.Transparent, same) {
		return false
	}
	for i, one := range list {
		if before := b.farms[i]; one != before && !one.contributes(before) {
			return false
		}
	}
	return true
}

// contributes reports whether a farm contributes the same to the base chains as before.
func (one *compiled) contributes(before *compiled) bool {
	return one.problem == "" && one.from.farm.ID == before.from.farm.ID && one.shape == before.shape &&
		Home(one.from.farm.L4.NAT) == Home(before.from.farm.L4.NAT) &&
		slices.EqualFunc(one.entries, before.entries, entry.equal) &&
		reflect.DeepEqual(one.used, before.used) && reflect.DeepEqual(one.wire, before.wire)
}

// equal reports whether two keys conflict with the same others.
func (e entry) equal(o entry) bool {
	return e.set == o.set && e.key == o.key && (e.span == nil) == (o.span == nil) && (e.span == nil || *e.span == *o.span)
}

// sealPrefix begins the name of a set that is always empty. The digest of all other rules
// follows.
const sealPrefix = "seal"

// sealed returns the base chains with a set that identifies these chains and the rules of parts
// in the kernel. The set is loaded and deleted with them in one transaction, so it
// identifies the rules loaded last, by any process.
func (b *common) sealed(parts map[uint32]*nft.Part) *nft.Part {
	own := nft.NewPart(b.rules)
	all := maps.Clone(parts)
	all[base] = own
	table := nft.Table{}
	for _, p := range all {
		for _, t := range p.Tables() {
			if table == (nft.Table{}) || t.Family < table.Family {
				table = t
			}
		}
	}
	if table == (nft.Table{}) {
		return own
	}
	r := *b.rules
	r.Sets = maps.Clone(b.rules.Sets)
	r.SetOf(nft.ID{Table: table, Name: sealPrefix + nft.Digest(all)}, func() *nft.Set { return &nft.Set{Type: "mark"} })
	return nft.NewPart(&r)
}
