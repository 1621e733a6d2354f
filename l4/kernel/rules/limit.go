package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// # Connection limits
//
// The kernel counts connections (ct count) in a set that keeps the tuples of the
// connections it was queried for. Closed connections are dropped at the next query. A
// query also counts: a connection queried for one backend and sent to another occupies the
// first for its whole life. Therefore the last connection a backend may have marks it as
// full (@full), and such backends are skipped without a query. A note is short-lived:
// within a tenth of a second kernel.Reconciler removes it if the backend has room.
//
//	farmN ──► spreadN: choose, skip @full ──► tryN, doubtN: over? missedN, else note the last, deliver
//	                        all are @full ──► fullN ──► roomN for each but the last: room? deliver
//	                                                    finalN, againN for the last: room? deliver, else refuse
//
// Before a client is refused because of notes, each backend is queried (roomN). These
// queries are counted in another set (@probed), so that a client that goes to the second
// backend does not occupy a slot of the first in @over. Only the backend about to get or
// refuse the connection is queried in @over: a connection refused or dropped then is counted
// nowhere.
//
// Both sets count every connection that a backend gets, so it has room if one of them says
// so (doubtN, againN). A set may count too many. It removes closed and refused connections
// only at the first query in a tick of the kernel's clock, and after 64 further ones
// (CONNCOUNT_GC_MAX_COLLECT of nf_conncount.c). Kernels before 2026 remove at most 8 in a
// tick. Requiring both sets to agree would need both to be up to date at the same time.
// Clients that connect without pause would then be admitted half as often as by a plain ct
// count rule.
//
// A note may be missing, e.g. when two packets take the last slot at the same time. The
// later packet is dropped if another backend may have room (missedN). The client repeats
// it, and by then the note exists. The rules of retry.go keep the repeated packet from
// occupying a slot of the first backend.
//
// Adding a note may fail, and then the rest of the rule is not evaluated. It fails when the
// set is full, and for a while after many notes of one backend within a second
// (RHT_ELASTICITY of rhashtable.h: deleted elements are freed once per second). So notes are
// added in a separate chain that returns in any case, and missedN queries the other backends
// if the note is still missing.
//
// No set is queried twice about the same packet for one backend: the kernel does not check
// for duplicates within one tick.

// FullTime is how long a note lasts without renewal.
const FullTime = 5 * time.Second

// Full names the set of backends noted as full, by mark, made by FullSet. Held names that of
// backends and farms treated as full because the kernel did not count all of their
// connections.
func Full() nft.ID { return inetID("full") }
func Held() nft.ID { return inetID("held") }

// noteFull adds or renews the note of the mark's backend. It is used in the chain note, as
// the last statement of a rule.
var noteFull = fmt.Sprintf("update @full { ct mark timeout %ds }", int(FullTime.Seconds()))

// limit limits the connections of a backend: over and probed match connections above the
// limit, limited matches the last allowed one too. Connections to a
// backend without new clients are counted, too: a new count would lack the open connections.
func (g *compiledFarm) limit(mark string, most uint32) {
	g.rules.SetOf(Full(), FullSet)
	g.rules.SetOf(Held(), FullSet)
	g.count("over", mark, most)
	g.count("probed", mark, most)
	g.count("limited", mark, most-1)
}

// count counts connections of that mark. A lookup in the set matches if there are more
// than most. The set has neither a size nor the flag dynamic, because the kernel removes
// elements without connections from such sets.
func (g *compiledFarm) count(set, mark string, most uint32) {
	g.set(set, "mark", "", "ct count over 1; ", mark, nft.Element{State: fmt.Sprintf("ct count over %d", most)})
}

// FullSet returns a set of marks of full backends, which packets and Fill add to.
func FullSet() *nft.Set {
	return &nft.Set{Type: "mark", Options: "size 65535; flags dynamic,timeout; ", Learned: true}
}

// Counted is the result of counting connections of backends with a limit.
type Counted struct {
	// At is when counting began. A note made by a packet later is more recent.
	At time.Time
	// Full holds the backends at their limit, Room those below it. Nothing is known about
	// others.
	Full, Room map[uint32]bool
	// Held holds the backends in Full that have connections unknown to the kernel's count, and
	// farms at their limit that have such (LimitOf). The kernel must not admit connections by
	// that count.
	Held map[uint32]bool
}

// bounded is a farm with connection limits during compilation.
type bounded struct {
	*compiledFarm
	chosen  []*State
	persist *persistence // nil without sessions
}

// name returns the name of one of the farm's chains.
func (b *bounded) name(chain string) string { return fmt.Sprintf("%s%d", chain, b.farm.ID) }

func (b *bounded) add(chain string, rules ...string) { b.chain(b.name(chain)).Rules = rules }

// body returns the rules that end the farm's chain, and adds the other chains.
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

// sessions finds the backend of a client's session. A session stays if its backend is merely
// full: tryN and roomN add no second one.
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

// known returns the marks of backends usable by sessions.
func (b *bounded) known() (marks []string) {
	for i := range b.states {
		if s := &b.states[i]; s.Known {
			marks = append(marks, MarkText(s.ID))
		}
	}
	return marks
}

// learn stores the choice, unless the client has a session.
func (b *bounded) learn() []string {
	if b.persist == nil {
		return nil
	}
	return []string{b.persist.remember("add")}
}

// choice sets the mark of one of the backends. It is a separate chain if there are sessions:
// several chains need it, and the table of a hash is large.
func (b *bounded) choice() []string {
	if b.persist == nil {
		return b.choose(b.chosen)
	}
	b.add("choose", b.choose(b.chosen)...)
	return []string{"jump " + b.name("choose")}
}

// next returns the statement that sets the mark of the next backend, cyclically.
func (b *bounded) next() string {
	pairs := make([]string, len(b.chosen))
	for i, s := range b.chosen {
		pairs[i] = MarkText(s.ID) + " : " + MarkText(b.chosen[(i+1)%len(b.chosen)].ID)
	}
	return "ct mark set ct mark map { " + strings.Join(pairs, ", ") + " }"
}

// spread chooses a backend and skips those noted as full.
func (b *bounded) spread() {
	rules := b.choice()
	for range b.chosen[1:] {
		rules = append(rules, "ct mark @full "+b.next())
	}
	b.add("spread", append(rules, "ct mark @full goto "+b.name("full"), "goto "+b.name("try"))...)
}

// deliver returns the final rules of chains that have chosen a backend.
func (b *bounded) deliver(before ...string) []string {
	return slices.Concat(before, b.learn(), []string{"jump deliver" + b.family.digit, "goto refuse"})
}

// try delivers to a backend without a note if it has room by one of the counts.
func (b *bounded) try() {
	b.add("try", b.deliver("ct mark @over goto "+b.name("doubt"), "ct mark @limited "+noteFull, "ct mark @probed")...)
	b.add("doubt", b.deliver("ct mark @probed goto "+b.name("missed"), "ct mark @limited "+noteFull)...)
}

// room delivers to a noted backend if it has room, otherwise it returns. If room is left
// after that, the note is removed.
func (b *bounded) room() {
	left := []string{"ct mark @limited goto " + b.name("last"), "delete @full { ct mark }"}
	with := func(count ...string) []string { return b.deliver(append(count, left...)...) }
	b.add("last", b.deliver(noteFull)...)
	b.add("room", with("ct mark @held return", "ct mark @probed return", "ct mark @over")...)
	if len(b.chosen) > 0 {
		b.add("final", with("ct mark @held goto refuse", "ct mark @over goto "+b.name("again"), "ct mark @probed")...)
		b.add("again", with("ct mark @probed goto refuse")...)
	}
}

// full tries each backend, beginning with that of the client's session, or the chosen one.
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

// missed handles a packet whose backend is full but has no note.
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

// others applies the rule to n of the chosen backends. Without sessions it begins after that
// of the mark. With sessions it begins with a choice, because a session may lead to a
// backend outside the chosen ones.
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
