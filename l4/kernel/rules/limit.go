package rules

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// FullTime is how long a backend that was noted as full is passed over without
// being looked at again.
const FullTime = 5 * time.Second

// noteFull notes the backend of the mark.
var noteFull = fmt.Sprintf("add @full { ct mark timeout %ds }", int(FullTime.Seconds()))

// limit bounds the connections of a backend. Both sets see those that are let in:
// limited matches for the last one it may have, over for those beyond.
func (g *Group) limit(mark string, most uint32) {
	g.rules.SetOf(InetID("full"), FullSet)
	g.rules.SetOf(InetID("held"), FullSet)
	g.count("over", mark, most)
	g.count("limited", mark, most-1)
}

// count has connections of that mark counted; a lookup in the set matches when
// there are more than most. The set has no size and is not dynamic: the kernel
// would take elements out of it that have no connections.
func (g *Group) count(set, mark string, most uint32) {
	g.set(set, "mark", "", "ct count over 1; ", mark, nft.Element{State: fmt.Sprintf("ct count over %d", most)})
}

// FullSet holds the marks of backends that are full: noted as such, or held to
// be because the kernel did not see all of their connections begin.
func FullSet() *nft.Set {
	return &nft.Set{Type: "mark", Options: "size 65535; flags dynamic,timeout; ", Learned: true}
}

// admit delivers to a backend that is not noted as full. It comes back, with the
// note, when the backend is.
func admit(f *family) []string {
	return []string{"ct mark @over " + noteFull + " return", "goto deliver" + f.Digit}
}

func fullChain(farm uint32) string { return fmt.Sprintf("full%d", farm) }

// spill goes on to the next backend while the chosen one is noted as full, and
// asks when all are.
func (g *Group) spill(chosen []*State, learn []string) []string {
	next := ""
	for i, s := range chosen {
		if i > 0 {
			next += ", "
		}
		next += MarkText(s.ID) + " : " + MarkText(chosen[(i+1)%len(chosen)].ID)
	}
	next = "ct mark @full ct mark set ct mark map { " + next + " }"
	var out, asked []string
	for i := range chosen {
		if i > 0 {
			out = append(out, next)
			asked = append(asked, next)
		}
		asked = append(asked, "ct mark @full jump room")
	}
	asked = append(append(asked, "ct mark @full goto refuse"), learn...)
	chain := g.rules.ChainOf(InetID(fullChain(g.Farm.ID)), func() *nft.Chain { return &nft.Chain{Owner: g.Farm.ID} })
	chain.Rules = append(asked, "jump deliver"+g.Family.Digit, "goto refuse")
	g.rules.ChainOf(InetID("room"), func() *nft.Chain {
		return &nft.Chain{Rules: []string{"ct mark @held return", "ct mark @over return", "delete @full { ct mark }"}}
	})
	return append(out, "ct mark @full goto "+fullChain(g.Farm.ID))
}
