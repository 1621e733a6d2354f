package firewall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// outcome is what a chain does with all packets of one kind.
type outcome int

const (
	undecided outcome = iota // nothing that is certain
	passes
	letThrough // by a rule on the mark of farms: their owner let them through
	dropsAll
)

// passage follows the chains of a table for one kind of packets. Conditions that
// are not understood are taken not to hold: a rule that accepts under one lets
// nothing through for certain, and one that drops under one concerns few.
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

// rule is what one rule does; ends says that nothing gets to the next.
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
					here = perhaps // a condition of other modules
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

// Warning tells that a firewall drops packets of farms and cannot be opened.
type Warning struct {
	Text string
	// Packets are those it drops, of the ones that were asked for.
	Packets []Packets
}

// warning is what a foreign chain does to the packets of n; ok is false when it
// lets all of them pass.
func (b base) warning(n Need) (w Warning, ok bool, err error) {
	if len(b.lost(n.Packets, func(Packets) bool { return true })) == 0 {
		return w, false, nil // nothing it sees
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
	// Farms of the other kind may come later: the advice holds for them, too.
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

// lost are the packets that go through the chain and are dropped.
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

// everyProtocol are the packets of one kind of any family and protocol.
func everyProtocol(kind Packets) (out []Packets) {
	for _, protocol := range Transports {
		out = append(out, Packets{kind.Marked, false, protocol}, Packets{kind.Marked, true, protocol})
	}
	return out
}

// statementList is a rule as its statements, conditions and verdict.
type statementList []map[string]any

// statementLists are the rules of the listing by chain.
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
			_ = json.Unmarshal(raw, &v) // it was read as JSON once
			out[i][name] = v
		}
	}
	return out
}

// comparePackets orders packets.
func comparePackets(a, b Packets) int {
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// Union are the packets of all lists, each once and in order.
func Union(lists ...[]Packets) []Packets {
	all := slices.Concat(lists...)
	slices.SortFunc(all, comparePackets)
	return slices.Compact(all)
}
