package rules

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// # Bounds of connections
//
// The kernel counts (ct count) by keeping the tuples of connections it was asked
// about, and drops those that are closed or gone when it is asked again. Asking
// is counting: a connection that is asked about for one backend and goes to
// another is counted for the first as long as it lives. So backends that are full
// are noted (@full) by the last connection they may have, and passed over without
// asking. The note may be older than the connections it is about. Before a client
// is refused because of it the kernel is asked, backend by backend (fullN): who is
// refused is dropped, and counts nowhere.
//
//	farmN:  choose, pass over @full ──► admit: over? note, else deliver
//	fullN:  one after the other ──► roomN: over? note, else forget the note, deliver
//	        none has room: refuse
//
// A note may be missing, too: one that is set right by what was counted before
// the last connections came, and one the kernel had no room for. So nothing is
// delivered without being asked about, and nothing hangs on a note: after an add
// that fails the kernel leaves the rest of the rule out. It fails where the set has
// no room, and for a while after many notes of one backend within a second
// (RHT_ELASTICITY of rhashtable.h: those that were deleted go once a second). So
// noting is a chain of its own, which comes back either way.
//
// What remains: of several backends that are noted the first is asked for a
// client the second has room for, which counts for both. That takes a note which
// is wrong; they are set right every second (kernel.Filter.Fill).

// FullTime is how long a backend that was noted as full is passed over without
// being looked at again.
const FullTime = 5 * time.Second

// Sets of backends by mark that are full, of FullSet: Full are those that were
// noted as such, Held those that are held to be, because the kernel did not see all
// of their connections begin.
func Full() nft.ID { return inetID("full") }
func Held() nft.ID { return inetID("held") }

// noteFull notes the backend of the mark; chain note is that. Nothing stands behind
// it in a rule.
var noteFull = fmt.Sprintf("add @full { ct mark timeout %ds }", int(FullTime.Seconds()))

// limit bounds the connections of a backend. Both sets see those that are let in:
// limited matches for the last one it may have, over for those beyond.
func (g *compiledFarm) limit(mark string, most uint32) {
	g.rules.SetOf(Full(), FullSet)
	g.rules.SetOf(Held(), FullSet)
	g.count("over", mark, most)
	g.count("limited", mark, most-1)
}

// count has connections of that mark counted; a lookup in the set matches when
// there are more than most. The set has no size and is not dynamic: the kernel
// would take elements out of it that have no connections.
func (g *compiledFarm) count(set, mark string, most uint32) {
	g.set(set, "mark", "", "ct count over 1; ", mark, nft.Element{State: fmt.Sprintf("ct count over %d", most)})
}

// FullSet is a set of marks of full backends, which packets and Fill add to.
func FullSet() *nft.Set {
	return &nft.Set{Type: "mark", Options: "size 65535; flags dynamic,timeout; ", Learned: true}
}

// admit delivers to a backend that is not noted as full. It comes back when the
// backend is, with a note.
func admit(f *family) []string {
	return []string{"ct mark @over goto note", "goto deliver" + f.digit}
}

func fullChain(farm uint32) string { return fmt.Sprintf("full%d", farm) }
func roomChain(farm uint32) string { return fmt.Sprintf("room%d", farm) }

// spill goes on to the next backend while the chosen one is noted as full, and
// asks one after the other when all are.
func (g *compiledFarm) spill(chosen []*State, learn []string) []string {
	next := ""
	for i, s := range chosen {
		if i > 0 {
			next += ", "
		}
		next += MarkText(s.ID) + " : " + MarkText(chosen[(i+1)%len(chosen)].ID)
	}
	next = "ct mark set ct mark map { " + next + " }"
	var out []string
	asked := []string{"jump " + roomChain(g.farm.ID)}
	for range chosen[1:] {
		out = append(out, "ct mark @full "+next)
		asked = append(asked, next, "jump "+roomChain(g.farm.ID))
	}
	room := []string{"ct mark @held return", "ct mark @over goto note", "delete @full { ct mark }"}
	g.chain(roomChain(g.farm.ID)).Rules = append(append(room, learn...), "jump deliver"+g.family.digit, "goto refuse")
	g.chain(fullChain(g.farm.ID)).Rules = append(asked, "goto refuse")
	return append(out, "ct mark @full goto "+fullChain(g.farm.ID))
}
