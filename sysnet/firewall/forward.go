package firewall

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// outcome is the verdict of a chain on all packets of one kind.
type outcome int

const (
	undecided outcome = iota // no certain verdict
	passes
	letThrough // accepted by a rule on the mark of farms, written by the table's owner
	dropsAll
)

// passage evaluates the chains of a table for one kind of packet. Unknown conditions
// count as false: an accept rule with one guarantees nothing, and a drop rule with one
// affects few packets.
type passage struct {
	chains map[string][]statementList
	packet farmPacket
	known  map[string]outcome
	depth  int
}

// closes reports whether the base chain drops these packets.
func closes(chains map[string][]statementList, b base, p farmPacket) bool {
	w := &passage{chains: chains, packet: p, known: map[string]outcome{}}
	o := w.chain(b.name)
	return o == dropsAll || o == undecided && b.policy == "drop"
}

func (w *passage) chain(name string) outcome {
	if o, ok := w.known[name]; ok || w.depth > maxDepth {
		return o
	}
	w.depth++
	o := w.rules(w.chains[name])
	w.depth--
	w.known[name] = o
	return o
}

func (w *passage) rules(list []statementList) outcome {
	for _, rule := range list {
		if o, ends := w.rule(rule); ends {
			return o
		}
	}
	return undecided
}

// rule returns the verdict of one rule. ends is true if no packet reaches the next rule.
func (w *passage) rule(statements statementList) (o outcome, ends bool) {
	here, owner := always, false
	for _, s := range statements {
		for name, value := range s {
			f, steps := statement(name, value, w.packet, here)
			if m, _ := value.(map[string]any); name == "match" && f == always && w.packet.hasMark(m["left"]) {
				owner = true
			}
			if here = min(here, f); here == never {
				return undecided, false
			}
			for _, s := range steps {
				if s.fate == unknown {
					here = perhaps // a condition of another module
					continue
				}
				if o, ends = w.step(s, owner); ends {
					return o, true
				}
			}
		}
	}
	return undecided, false
}

func (w *passage) step(s step, owner bool) (o outcome, ends bool) {
	switch s.fate {
	case accept:
		o = passes
		if owner {
			o = letThrough
		}
	case drop:
		o = dropsAll
	case giveBack:
		return undecided, s.fit == always
	case jump, gotoChain:
		o = w.chain(s.target)
		if o == passes && owner {
			o = letThrough
		}
		if o == undecided {
			return undecided, s.fate == gotoChain && s.fit == always
		}
	}
	return o, s.fit == always || o == letThrough
}

// Warning describes a firewall that drops packets of farms and cannot be opened.
type Warning struct {
	Text string
	// Packets are the kinds that it drops, out of those in Need.
	Packets []Packets
}

// warning returns the Warning for a foreign base chain. ok is false if the chain accepts
// all packets of n.
func (b base) warning(n Need) (w Warning, ok bool, err error) {
	if len(b.lost(n.Packets, func(Packets) bool { return true })) == 0 {
		return w, false, nil // no packet traverses it
	}
	l, err := nft("--terse", "list", "table", b.family, b.table)
	if err != nil {
		return w, false, err
	}
	w, ok = l.warning(b, n)
	return w, ok, nil
}

func (l *listing) warning(b base, n Need) (w Warning, ok bool) {
	chains := l.statementLists()
	drops := func(p Packets) bool { return closes(chains, b, farmPacket{p, n.Mark, n.Mask}) }
	if w.Packets = b.lost(n.Packets, drops); len(w.Packets) == 0 {
		return Warning{}, false
	}
	// The advice also covers the other kind of farm, which may be added later.
	var missing []string
	for _, marked := range []bool{false, true} {
		if kind := (Packets{Marked: marked}); len(b.lost(everyProtocol(kind), drops)) > 0 {
			missing = append(missing, fmt.Sprintf("\"%s mark and %#x == %#x accept\"", kind.markKind(), n.Mask, n.Mark))
		}
	}
	noun := "rule "
	if len(missing) > 1 {
		noun = "rules "
	}
	w.Text = fmt.Sprintf("chain %s of table %s %s drops packets of farms; no other table can let them through there: its owner may add the %s",
		b.name, b.family, b.table, noun+strings.Join(missing, " and "))
	return w, true
}

// lost returns the packets that traverse the chain and are dropped.
func (b base) lost(all []Packets, drops func(Packets) bool) (out []Packets) {
	for _, p := range all {
		family := "ip"
		if p.V6 {
			family = "ip6"
		}
		if (b.family == family || b.family == "inet") && drops(p) {
			out = append(out, p)
		}
	}
	return out
}

// everyProtocol returns the packets of one kind for all families and protocols.
func everyProtocol(kind Packets) (out []Packets) {
	for _, protocol := range Transports {
		out = append(out, Packets{kind.Marked, false, protocol}, Packets{kind.Marked, true, protocol})
	}
	return out
}

// statementList is a rule as a list of statements: conditions and a verdict.
type statementList []map[string]any

// statementLists returns the rules of the listing, by chain.
func (l *listing) statementLists() map[string][]statementList {
	all := map[string][]statementList{}
	for _, o := range l.Nftables {
		if o.Rule != nil {
			all[o.Rule.Chain] = append(all[o.Rule.Chain], statements(o.Rule.Expr))
		}
	}
	return all
}

func statements(expr []map[string]json.RawMessage) statementList {
	out := make(statementList, len(expr))
	for i, e := range expr {
		out[i] = map[string]any{}
		for name, raw := range e {
			var v any
			_ = json.Unmarshal(raw, &v) // already validated as JSON
			out[i][name] = v
		}
	}
	return out
}

// comparePackets compares two kinds of packets for sorting.
func comparePackets(a, b Packets) int {
	return cmp.Or(compareBools(a.Marked, b.Marked), compareBools(a.V6, b.V6), strings.Compare(a.Protocol, b.Protocol))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Union returns the packets of all lists, sorted and without duplicates.
func Union(lists ...[]Packets) []Packets {
	all := slices.Concat(lists...)
	slices.SortFunc(all, comparePackets)
	return slices.Compact(all)
}
