package nft

import (
	"maps"
	"slices"
	"strings"
)

// Batch is one transaction: lines of the nft language, each with its owner. The zero
// value is empty.
type Batch struct {
	lines  []string
	owners []uint32
	steps  []step
}

// step encodes one or more lines for the kernel, or returns errIndirect. A nil step stands for
// lines that only nft understands.
type step func(e *encoder) error

func (b *Batch) add(owner uint32, line string) { b.also(owner, line, nil) }

// also adds a line that is encoded by a step.
func (b *Batch) also(owner uint32, line string, s step) {
	b.line(owner, line)
	b.steps = append(b.steps, s)
}

func (b *Batch) line(owner uint32, line string) {
	b.lines, b.owners = append(b.lines, line), append(b.owners, owner)
}

// Empty reports whether the batch has no lines.
func (b *Batch) Empty() bool { return len(b.lines) == 0 }

// Text returns the transaction as input for `nft -f`.
func (b *Batch) Text() string {
	if len(b.lines) == 0 {
		return ""
	}
	return strings.Join(b.lines, "\n") + "\n"
}

// Owner returns the owner of a line, counted from 1, or 0 if it has none.
func (b *Batch) Owner(line int) uint32 {
	if line < 1 || line > len(b.owners) {
		return 0
	}
	return b.owners[line-1]
}

// Carried holds the state that a Load carries over from the kernel, by set and key. For
// learned sets it holds the elements with their remaining time as State. For other sets
// it holds the State (a counter) of elements that the ruleset contains anyway.
type Carried map[ID]map[string]Element

// Load returns the transaction after which the tables contain exactly want. The tables of
// Sluice are own; those that want does not need are deleted. The state in carried is
// merged into the sets of want.
func Load(own []Table, want *Ruleset, carried Carried) *Batch {
	b := &Batch{}
	for _, t := range own {
		b.add(0, "add table "+t.String()) // so that the next line never fails
		b.add(0, "delete table "+t.String())
	}
	b.append(diff(&Ruleset{}, want, carried))
	return b
}

func (b *Batch) append(other *Batch) {
	b.lines, b.owners = append(b.lines, other.lines...), append(b.owners, other.owners...)
	b.steps = append(b.steps, other.steps...)
}

// Diff returns the transaction that turns have into want. It leaves elements of learned
// sets alone. ok is false if a definition changed under the same name, which requires
// Load.
func Diff(have, want *Ruleset) (b *Batch, ok bool) {
	if !compatible(have, want) {
		return nil, false
	}
	return diff(have, want, nil), true
}

// compatible reports whether no definition changed under the same name.
func compatible(have, want *Ruleset) bool {
	for id, s := range want.Sets {
		if old := have.Sets[id]; old != nil && !old.sameDefinition(s) {
			return false
		}
	}
	for id, c := range want.Chains {
		if old := have.Chains[id]; old != nil && old.Hook != c.Hook {
			return false
		}
	}
	for id, h := range want.Helpers {
		if old := have.Helpers[id]; old != nil && old.Text != h.Text {
			return false
		}
	}
	return true
}

// diff returns the transaction that turns have into want. Objects are added before
// references to them and deleted after them, as the kernel requires.
func diff(have, want *Ruleset, carried Carried) *Batch {
	return diffOf(have, want, carried, have.Tables(), want.Tables())
}

// diffOf is diff of rulesets that lie in these tables, which may have other objects too.
func diffOf(have, want *Ruleset, carried Carried, tables, wanted []Table) *Batch {
	b := &Batch{}
	for _, t := range wanted {
		if !slices.Contains(tables, t) {
			b.add(0, "add table "+t.String())
		}
	}
	b.define(have, want)
	changed := changedChains(have, want)
	first := anonymous(want, changed)
	early := withTargets(want, first)
	b.chains(have, want, func(id ID) bool { return early[id] })
	for _, id := range ordered(have.Chains) {
		if want.Chains[id] == nil || changed[id] {
			b.also(have.Chains[id].Owner, "flush chain "+id.String(), func(e *encoder) error { e.flushChain(id); return nil })
		}
	}
	b.rules(want, func(id ID) bool { return first[id] })
	b.chains(have, want, func(id ID) bool { return !early[id] })
	for _, id := range ordered(have.Sets) {
		if s := want.Sets[id]; s != nil && !s.Learned {
			b.elements("delete", id, s, gone(have.Sets[id], s))
		}
	}
	for _, id := range ordered(want.Sets) {
		s := want.Sets[id]
		switch old := have.Sets[id]; {
		case old == nil:
			b.elements("add", id, s, merged(s, carried[id]))
		case !s.Learned:
			b.elements("add", id, s, fresh(old, s))
		}
	}
	b.rules(want, func(id ID) bool { return changed[id] && !first[id] })
	b.remove(have, want)
	for _, t := range tables {
		if !slices.Contains(wanted, t) {
			b.add(0, "delete table "+t.String())
		}
	}
	return b
}

// define adds new helpers and sets, without elements.
func (b *Batch) define(have, want *Ruleset) {
	for _, id := range ordered(want.Helpers) {
		if have.Helpers[id] == nil {
			b.add(want.Helpers[id].Owner, "add ct helper "+id.String()+" { "+want.Helpers[id].Text+" }")
		}
	}
	for _, id := range sharedFirst(want.Sets) {
		if s := want.Sets[id]; have.Sets[id] == nil {
			b.also(s.Owner, "add "+s.kind()+" "+id.String()+" { "+s.definition()+"}", func(e *encoder) error { return e.addSet(id, s) })
		}
	}
}

// chains adds new chains for which wanted returns true, without rules.
func (b *Batch) chains(have, want *Ruleset, wanted func(ID) bool) {
	for _, id := range ordered(want.Chains) {
		if c := want.Chains[id]; have.Chains[id] == nil && wanted(id) {
			if c.Hook != "" {
				b.add(c.Owner, "add chain "+id.String()+" { "+c.Hook+" }")
				continue
			}
			b.also(c.Owner, "add chain "+id.String(), func(e *encoder) error { e.addChain(id); return nil })
		}
	}
}

// rules adds the rules of chains for which wanted returns true.
func (b *Batch) rules(want *Ruleset, wanted func(ID) bool) {
	for _, id := range ordered(want.Chains) {
		if !wanted(id) {
			continue
		}
		c := want.Chains[id]
		for _, rule := range c.Rules {
			b.also(c.Owner, "add rule "+id.String()+" "+rule, func(e *encoder) error { return e.addRule(id, rule) })
		}
	}
}

// remove deletes objects that want lacks. Maps are deleted before the chains that their
// verdicts refer to.
func (b *Batch) remove(have, want *Ruleset) {
	for _, id := range ordered(have.Sets) {
		if s := have.Sets[id]; want.Sets[id] == nil {
			b.also(s.Owner, "delete "+s.kind()+" "+id.String(), func(e *encoder) error { e.deleteSet(id); return nil })
		}
	}
	for _, id := range ordered(have.Chains) {
		if want.Chains[id] == nil {
			b.also(have.Chains[id].Owner, "delete chain "+id.String(), func(e *encoder) error { e.deleteChain(id); return nil })
		}
	}
	for _, id := range ordered(have.Helpers) {
		if want.Helpers[id] == nil {
			b.add(have.Helpers[id].Owner, "delete ct helper "+id.String())
		}
	}
}

func changedChains(have, want *Ruleset) map[ID]bool {
	changed := map[ID]bool{}
	for id, c := range want.Chains {
		if old := have.Chains[id]; old == nil || !slices.Equal(old.Rules, c.Rules) {
			changed[id] = true
		}
	}
	return changed
}

// gone returns the elements of old that want lacks or that differ in want.
func gone(old, want *Set) map[string]Element { return without(old.Elements, want.Elements) }

// fresh returns the elements of want that old lacks or that differ in old.
func fresh(old, want *Set) map[string]Element { return without(want.Elements, old.Elements) }

func without(a, b map[string]Element) map[string]Element {
	out := map[string]Element{}
	for key, e := range a {
		if other, there := b[key]; !there || other.State != e.State || other.Value != e.Value {
			out[key] = e
		}
	}
	return out
}

// elements adds or deletes elements of a set, one per line so that an error can be attributed
// to its owner.
func (b *Batch) elements(verb string, id ID, s *Set, list map[string]Element) {
	if len(list) == 0 {
		return
	}
	b.line(0, verb+" element "+id.String()+" {")
	for _, key := range slices.Sorted(maps.Keys(list)) {
		e := list[key]
		line := "  " + key
		if verb != "delete" && e.State != "" {
			line += " " + e.State
		}
		if verb != "delete" && e.Value != "" {
			line += " : " + e.Value
		}
		b.line(e.Owner, line+",")
	}
	b.line(0, "}")
	b.steps = append(b.steps, func(e *encoder) error {
		if verb == "delete" {
			return e.deleteElements(id, s, list)
		}
		return e.addElements(id, s, list)
	})
}

// merged returns the elements for the creation of a set.
func merged(s *Set, carried map[string]Element) map[string]Element {
	if len(carried) == 0 {
		return s.Elements
	}
	out := maps.Clone(s.Elements)
	for key, e := range carried {
		own, wanted := s.Elements[key]
		switch {
		case s.Learned && !wanted:
			e.Owner = s.Owner
			out[key] = e
		case !s.Learned && wanted:
			own.State = e.State
			out[key] = own
		}
	}
	return out
}
