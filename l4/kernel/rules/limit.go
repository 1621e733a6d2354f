package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// # Limits of connections
//
// The kernel counts (ct count) by keeping the tuples of the connections it was asked
// about. It drops those that are closed or gone when it is asked again. Asking is
// counting: a connection that is asked about for one backend and goes to another one
// occupies the first for as long as it lives. Therefore a full backend is noted (@full)
// by the last connection it may have, and noted backends are skipped without asking.
// netd removes the note of a backend that has emptied within a tenth of a second
// (kernel.Reconciler), so that a note is never trusted for long.
//
//	farmN ──► spreadN: choose, skip @full ──► tryN: over? missedN, else note the last, deliver
//	                        all are @full ──► fullN ──► roomN for each but the last: room? deliver
//	                                                    finalN for the last: room? deliver, else refuse
//
// Before a client is refused because of notes, each backend is asked (roomN). These
// questions are counted in a set of their own (@probed), so that a client that goes to
// the second backend does not occupy a place of the first in @over. Only the backend
// that is about to get the connection is asked in @over, which has the last word: a
// connection that is refused or dropped then is counted nowhere.
//
// The last backend that is left is asked in @over alone (finalN). Each question delays by up to
// a tick of the kernel's clock when it notices connections that are closed, and both would have
// to have noticed at the same time: one that is asked as rarely as a plain rule with ct count
// admits as many clients.
//
// A note may be missing, e.g. when two packets take the last place at the same time.
// The packet that comes too late is dropped if another backend may have room (missedN):
// the client repeats it, and by then the note is there. retry.go keeps the repeated packet
// from occupying a place of the first backend.
//
// Noting may fail: the rest of a rule is not evaluated after an add that fails. It fails
// when the set has no room, and for a while after many notes of one backend within a
// second (RHT_ELASTICITY of rhashtable.h: deleted elements are freed once a second).
// So noting is a chain of its own that returns either way, and missedN asks the other
// backends if the note is still missing.
//
// No set is asked twice about the same packet for one backend: the kernel does not look
// for duplicates within one tick of its clock.

// FullTime is how long a note lasts that nobody renews or removes.
const FullTime = 5 * time.Second

// Sets of backends by mark that are full, of FullSet: Full are noted as such, Held are
// considered full because the kernel did not see all of their connections begin.
func Full() nft.ID { return inetID("full") }
func Held() nft.ID { return inetID("held") }

// noteFull notes the backend of the mark, or renews its note. Chain note holds it. No
// other statement follows it in a rule.
var noteFull = fmt.Sprintf("update @full { ct mark timeout %ds }", int(FullTime.Seconds()))

// limit bounds the connections of a backend: over and probed match for connections
// beyond the limit, limited matches for the last one as well.
func (g *compiledFarm) limit(mark string, most uint32) {
	g.rules.SetOf(Full(), FullSet)
	g.rules.SetOf(Held(), FullSet)
	g.count("over", mark, most)
	g.count("probed", mark, most)
	g.count("limited", mark, most-1)
}

// count counts connections of that mark. A lookup in the set matches when there are
// more than most. The set has no size and is not dynamic: the kernel would remove
// elements without connections.
func (g *compiledFarm) count(set, mark string, most uint32) {
	g.set(set, "mark", "", "ct count over 1; ", mark, nft.Element{State: fmt.Sprintf("ct count over %d", most)})
}

// FullSet is a set of marks of full backends, which packets and Fill add to.
func FullSet() *nft.Set {
	return &nft.Set{Type: "mark", Options: "size 65535; flags dynamic,timeout; ", Learned: true}
}

// Counted is what counting connections found about backends with a limit.
type Counted struct {
	// At is when counting began. A note that a packet made later is better informed.
	At time.Time
	// Full are the backends with all the connections they may have, Room those with
	// fewer. Nothing is known about others.
	Full, Room map[uint32]bool
	// Held are backends in Full of whose connections the kernel did not see all begin:
	// it must not let connections in by its own count.
	Held map[uint32]bool
}

// bounded is a farm with limits of connections while it is compiled.
type bounded struct {
	*compiledFarm
	chosen  []*State
	persist *persistence // nil without sessions
}

// name is the name of one of the chains of the farm.
func (b *bounded) name(chain string) string { return fmt.Sprintf("%s%d", chain, b.farm.ID) }

func (b *bounded) add(chain string, rules ...string) { b.chain(b.name(chain)).Rules = rules }

// body returns the rules that end the chain of the farm, and adds the other chains.
func (b *bounded) body() []string {
	if len(b.known()) == 0 {
		return []string{"goto refuse"}
	}
	b.try()
	b.room()
	b.missed()
	b.full()
	if len(b.chosen) > 0 {
		b.spread()
	}
	if b.persist == nil {
		return []string{"goto " + b.name("spread")}
	}
	return b.sessions()
}

// sessions finds the backend of a client's session. A session that leads to a backend
// that is merely full stays: tryN and roomN add no second one.
func (b *bounded) sessions() []string {
	known := "ct mark { " + strings.Join(b.known(), ", ") + " } goto "
	b.add("home", b.persist.memory.lookup("", known+b.name("room"))...)
	next := "goto " + b.name("full")
	if len(b.chosen) > 0 {
		next = "goto " + b.name("spread")
	}
	b.add("known", "ct mark != @full goto "+b.name("try"), next)
	out := b.persist.lookup(known + b.name("known"))
	if len(b.chosen) == 0 {
		return append(out, "goto refuse")
	}
	return append(out, b.persist.forget(), next)
}

// known are the marks of backends that sessions may lead to.
func (b *bounded) known() (marks []string) {
	for i := range b.states {
		if s := &b.states[i]; s.Known {
			marks = append(marks, MarkText(s.ID))
		}
	}
	return marks
}

// learn remembers the choice, unless the client has a session.
func (b *bounded) learn() []string {
	if b.persist == nil {
		return nil
	}
	return []string{b.persist.remember("add")}
}

// choice sets the mark of one of the backends. Several chains of a farm with sessions
// need it, and the table of a hash is large.
func (b *bounded) choice() []string {
	if b.persist == nil {
		return b.choose(b.chosen)
	}
	b.add("choose", b.choose(b.chosen)...)
	return []string{"jump " + b.name("choose")}
}

// next sets the mark of the backend after that of the mark, in a circle.
func (b *bounded) next() string {
	pairs := make([]string, len(b.chosen))
	for i, s := range b.chosen {
		pairs[i] = MarkText(s.ID) + " : " + MarkText(b.chosen[(i+1)%len(b.chosen)].ID)
	}
	return "ct mark set ct mark map { " + strings.Join(pairs, ", ") + " }"
}

// spread chooses, and skips backends that are noted as full.
func (b *bounded) spread() {
	rules := b.choice()
	for range b.chosen[1:] {
		rules = append(rules, "ct mark @full "+b.next())
	}
	b.add("spread", append(rules, "ct mark @full goto "+b.name("full"), "goto "+b.name("try"))...)
}

// deliver ends the chains that have decided.
func (b *bounded) deliver(before ...string) []string {
	return slices.Concat(before, b.learn(), []string{"jump deliver" + b.family.digit, "goto refuse"})
}

// try delivers to a backend that is not noted, if it has room.
func (b *bounded) try() {
	b.add("try", b.deliver("ct mark @over goto "+b.name("missed"), "ct mark @limited "+noteFull, "ct mark @probed")...)
}

// room delivers to a backend that is noted if it has room, and returns if it has not.
// The note of a backend that has room for more is removed.
func (b *bounded) room() {
	b.add("last", b.deliver(noteFull)...)
	b.add("room", b.deliver("ct mark @held return", "ct mark @probed return", "ct mark @over goto refuse",
		"ct mark @limited goto "+b.name("last"), "delete @full { ct mark }")...)
	if len(b.chosen) > 0 {
		b.add("final", b.deliver("ct mark @held goto refuse", "ct mark @over goto refuse", "ct mark @probed",
			"ct mark @limited goto "+b.name("last"), "delete @full { ct mark }")...)
	}
}

// full asks each backend. The first is that of the client's session, or the one that
// was chosen.
func (b *bounded) full() {
	var rules []string
	if b.persist != nil {
		rules = append(rules, "jump "+b.name("home"))
	}
	rules = append(rules, b.others("jump "+b.name("room"), len(b.chosen))...)
	if len(b.chosen) > 0 {
		rules[len(rules)-1] = "goto " + b.name("final")
		b.add("full", rules...)
		return
	}
	b.add("full", append(rules, "goto refuse")...)
}

// missed is for a packet whose backend turned out to be full without a note.
func (b *bounded) missed() {
	rules := []string{"jump note"}
	if others := len(b.chosen); others > 1 || others > 0 && b.persist != nil {
		if b.persist == nil {
			others--
		}
		rules = append(rules, b.rememberDrop())
		b.add("later", append(b.others("ct mark != @full drop", others), "goto refuse")...)
		rules = append(append(rules, "ct mark @full goto "+b.name("later")), b.others("jump "+b.name("room"), others)...)
	}
	b.add("missed", append(rules, "goto refuse")...)
}

// others applies the rule to n of the chosen backends. Without sessions it begins after
// that of the mark, else with a choice, because a session may lead to a backend that is
// not among them.
func (b *bounded) others(rule string, n int) (out []string) {
	if b.persist != nil && n > 0 {
		out = append(out, "jump "+b.name("choose"))
	}
	for i := range n {
		if len(b.chosen) > 1 && (b.persist == nil || i > 0) {
			out = append(out, b.next())
		}
		out = append(out, rule)
	}
	return out
}
