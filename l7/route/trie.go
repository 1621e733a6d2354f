package route

import (
	"cmp"
	"slices"
)

// trie finds the entries whose path is a prefix of the input or equals it. Nodes are in one
// slice and refer to each other by index. A run of nodes with a single literal child each is
// folded into the string of the last.
//
//	nodes   run → entries → next byte: one literal edge, any number of set edges
//	jump    literal edges: node × (byte - lo) → child, 0 means none
//	edges   set edges
//	entries what ends at a node, grouped by node
type trie struct {
	nodes   []node
	jump    []uint32
	edges   []edge
	entries []entry
}

type node struct {
	run      string // bytes to compare first
	jump     uint32 // first slot in trie.jump
	lo, span byte   // literal edges exist for lo … lo+span-1
	sets     span   // in trie.edges
	prefix   span   // in trie.entries: reaching the node suffices
	exact    span   // in trie.entries: the input must end here
}

// span is a range of a slice.
type span struct{ from, to uint32 }

type edge struct {
	set   set
	child uint32
}

// entry is the target of a path: a group (host trie) or a rule (URL trie), subject to the
// check.
type entry struct {
	value int32
	more  bool   // subject to Conditions
	check *check // nil: no check
}

// branch is a node during construction.
type branch struct {
	byByte map[byte]*branch
	bySet  []setBranch
	prefix []entry
	exact  []entry
}

type setBranch struct {
	set   set
	child *branch
}

// add adds e below root at the path of pl.
func (b *branch) add(pl trieSeq, e entry) {
	for _, s := range pl.elems {
		b = b.step(s)
	}
	e.check = pl.check
	if pl.exact {
		b.exact = append(b.exact, e)
		return
	}
	b.prefix = append(b.prefix, e)
}

func (b *branch) step(s set) *branch {
	if c, ok := s.single(); ok {
		next := b.byByte[c]
		if next == nil {
			if b.byByte == nil {
				b.byByte = map[byte]*branch{}
			}
			next = &branch{}
			b.byByte[c] = next
		}
		return next
	}
	for _, e := range b.bySet {
		if e.set == s {
			return e.child
		}
	}
	next := &branch{}
	b.bySet = append(b.bySet, setBranch{s, next})
	return next
}

// freeze lays out the tree. With shadow it omits entries after one that always holds, because
// only the first rule of a path can win.
func (b *branch) freeze(shadow bool) *trie {
	t := &trie{}
	t.lay(b, shadow)
	return t
}

// lay appends b and its descendants, and returns b's index.
func (t *trie) lay(b *branch, shadow bool) uint32 {
	at := uint32(len(t.nodes))
	t.nodes = append(t.nodes, node{})
	n := node{}
	var run []byte
	for len(b.byByte) == 1 && len(b.bySet) == 0 && len(b.prefix) == 0 && len(b.exact) == 0 {
		for c, next := range b.byByte {
			run, b = append(run, c), next
		}
	}
	n.run = string(run)
	n.prefix = t.list(b.prefix, shadow)
	n.exact = t.list(b.exact, shadow)
	t.layBytes(&n, b, shadow)
	t.laySets(&n, b, shadow)
	t.nodes[at] = n
	return at
}

func (t *trie) layBytes(n *node, b *branch, shadow bool) {
	if len(b.byByte) == 0 {
		return
	}
	lo, hi := byte(0xff), byte(0)
	for c := range b.byByte {
		lo, hi = min(lo, c), max(hi, c)
	}
	n.lo, n.span, n.jump = lo, hi-lo+1, uint32(len(t.jump))
	t.jump = append(t.jump, make([]uint32, n.span)...)
	for c := int(lo); c <= int(hi); c++ { // in byte order, so that equal rules give equal tables
		if next := b.byByte[byte(c)]; next != nil {
			child := t.lay(next, shadow)
			t.jump[n.jump+uint32(byte(c)-lo)] = child
		}
	}
}

func (t *trie) laySets(n *node, b *branch, shadow bool) {
	n.sets.from = uint32(len(t.edges))
	t.edges = append(t.edges, make([]edge, len(b.bySet))...)
	n.sets.to = uint32(len(t.edges))
	for i, e := range b.bySet {
		child := t.lay(e.child, shadow)
		t.edges[int(n.sets.from)+i] = edge{e.set, child}
	}
}

// list appends the entries in rule order; among equals, those without a check come first.
func (t *trie) list(list []entry, shadow bool) span {
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(cost(a), cost(b)))
	})
	from := uint32(len(t.entries))
	for _, e := range list {
		t.entries = append(t.entries, e)
		if shadow && e.check == nil && !e.more {
			break
		}
	}
	return span{from, uint32(len(t.entries))}
}

// cost orders checks: none, literal, regular expression.
func cost(e entry) int {
	if e.check == nil {
		return -1
	}
	return int(e.check.kind)
}
