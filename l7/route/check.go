package route

import (
	"bytes"
	"regexp/syntax"
	"slices"
)

// check is the remaining test after a trie led to a pattern. It only sees plain input.
type check struct {
	kind kind
	lit  []byte // the sequence as bytes if every element has a single one; else nil
	seq  []set  // containing and suffix
	// sure is the first element of seq with a single byte, which is pivot, or -1. begins
	// holds the possible first bytes. They locate candidates when case is ignored and lit is
	// nil.
	sure   int
	pivot  byte
	begins [256]bool
	need   []byte   // expression: a required substring, or nil
	p      *pattern // expression
}

type kind uint8

const (
	containing kind = iota
	suffix
	expression
)

// trieSeq is one sequence of a pattern for a trie.
type trieSeq struct {
	elems []set  // path from the root
	exact bool   // the input must end there
	check *check // nil if the path suffices
}

// trieSeqs turns the sequences of a pattern into trie entries.
func (p *pattern) trieSeqs() []trieSeq {
	var out []trieSeq
	asked := false // the expression already runs for every input
	for _, q := range p.seqs {
		asked = asked || q.end == unsure && (q.floating || len(q.elems) == 0)
	}
	if asked {
		out = append(out, trieSeq{check: &check{kind: expression, need: p.need, p: p}})
	}
	for _, q := range p.seqs {
		switch {
		case q.end == unsure && asked:
		case q.end == unsure:
			out = append(out, trieSeq{elems: q.elems, check: &check{kind: expression, p: p}})
		case !q.floating:
			out = append(out, trieSeq{elems: q.elems, exact: q.end == ended})
		case len(q.elems) == 0:
			out = append(out, trieSeq{})
		default:
			out = append(out, trieSeq{check: search(q)})
		}
	}
	return out
}

// search returns the check for a sequence that may start anywhere.
func search(q seq) *check {
	c := &check{kind: containing, seq: q.elems}
	if q.end == ended {
		c.kind = suffix
	}
	for _, s := range q.elems {
		b, ok := s.single()
		if !ok {
			c.lit = nil
			break
		}
		c.lit = append(c.lit, b)
	}
	c.sure = slices.IndexFunc(q.elems, func(s set) bool { _, ok := s.single(); return ok })
	if c.sure >= 0 {
		c.pivot, _ = q.elems[c.sure].single()
	}
	for b := range byte(0x80) {
		c.begins[b] = q.elems[0].has(b)
	}
	return c
}

// ok evaluates the check for s, and for s[:bare] if the end matters.
func (c *check) ok(s []byte, bare int) bool {
	switch c.kind {
	case containing:
		return c.contained(s)
	case suffix:
		return c.ends(s) || bare < len(s) && c.ends(s[:bare])
	}
	return (c.need == nil || bytes.Contains(s, c.need)) && c.p.matchesPlain(s, bare)
}

func (c *check) contained(s []byte) bool {
	if c.lit != nil {
		return bytes.Contains(s, c.lit)
	}
	if c.sure >= 0 {
		return c.around(s)
	}
	for i := 0; i+len(c.seq) <= len(s); i++ {
		if c.begins[s[i]] && c.at(s[i:]) {
			return true
		}
	}
	return false
}

// around searches the sequence around its pivot byte, e.g. the '-' of a name in a
// case-insensitive search.
func (c *check) around(s []byte) bool {
	for len(s) >= len(c.seq) {
		i := bytes.IndexByte(s[c.sure:], c.pivot)
		if i < 0 || len(s)-i < len(c.seq) {
			return false
		}
		if c.at(s[i:]) {
			return true
		}
		s = s[i+1:]
	}
	return false
}

func (c *check) ends(s []byte) bool {
	if c.lit != nil {
		return bytes.HasSuffix(s, c.lit)
	}
	return len(s) >= len(c.seq) && c.at(s[len(s)-len(c.seq):])
}

// at compares the sequence with the beginning of s, which must be long enough.
func (c *check) at(s []byte) bool {
	for i := range c.seq {
		if !c.seq[i].has(s[i]) {
			return false
		}
	}
	return true
}

// needed returns a substring that every plain match of re contains, or nil if none is easily
// found.
func (p *pattern) needed(re *syntax.Regexp) []byte {
	var best []byte
	switch re.Op {
	case syntax.OpLiteral:
		return p.longestLiteral(re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if n := p.needed(sub); len(n) > len(best) {
				best = n
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		best = p.needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			best = p.needed(re.Sub[0])
		}
	}
	return best
}

// longestLiteral returns the longest run of runes with a single byte each.
func (p *pattern) longestLiteral(re *syntax.Regexp) []byte {
	var best, run []byte
	for _, r := range re.Rune {
		b, ok := p.runeSet(r, re.Flags&syntax.FoldCase != 0).single()
		if !ok {
			run = nil
			continue
		}
		if run = append(run, b); len(run) > len(best) {
			best = run
		}
	}
	return best
}
