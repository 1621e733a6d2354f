package rules

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Rules depend on connections that were ended, which only netd knows. If netd is killed, its
// successor must not forget them: it would load rules that pick these connections up again.
// So two sets record them, in the same transaction as the rules. No rule reads the sets. Those
// of farms that are stopped, or that cannot be carried now, are in the table inet, because the
// kernel may lack netdev.
//
//	midstream   farms with flushed connections, by a mark
//	ended       backends that are down and whose connections were ended, by their mark
const (
	flushedSet = "midstream"
	cutSet     = "ended"
)

// recordOf returns a part with only the records of a farm, nil if there are none.
func recordOf(in *Input, f *farm.Farm) *nft.Part {
	c := &compiler{in: in, rules: &nft.Ruleset{}}
	if c.remember(f, Inet()); len(c.rules.Sets) == 0 {
		return nil
	}
	return nft.NewPart(c.rules)
}

// remember records in a table what the input says about ended connections of the farm.
func (c *compiler) remember(f *farm.Farm, home nft.Table) {
	add := func(set, key string) {
		c.rules.SetOf(nft.ID{Table: home, Name: set}, func() *nft.Set { return &nft.Set{Type: "mark"} }).Elements[key] = nft.Element{Owner: f.ID}
	}
	if c.in.Flushed[f.ID] {
		add(flushedSet, nft.Mark(farmMark(f.ID)))
	}
	for i := range f.L4.Backends {
		if id := f.L4.Backends[i].ID; c.in.Cut[id] {
			add(cutSet, MarkText(id))
		}
	}
}

// Remembered returns Flushed and Cut of the input whose rules are in the kernel. marks returns
// the elements of a set of marks, nil if it does not exist.
func Remembered(marks func(nft.ID) (map[uint32]bool, error)) (flushed, cut map[uint32]bool, err error) {
	flushed, cut = map[uint32]bool{}, map[uint32]bool{}
	for _, t := range Tables() {
		for set, to := range map[string]map[uint32]bool{flushedSet: flushed, cutSet: cut} {
			found, err := marks(nft.ID{Table: t, Name: set})
			if err != nil {
				return nil, nil, err
			}
			for mark := range found {
				if set == flushedSet {
					mark &^= farmMark(0)
				}
				to[mark&^claim.OwnMask] = true
			}
		}
	}
	return flushed, cut, nil
}
