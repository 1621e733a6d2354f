package route

import (
	"regexp/syntax"
	"slices"
	"unicode"
)

// Bounds of a shape. Beyond them the sequence is truncated and the regular expression
// decides. They keep one pattern's share of a trie below a megabyte in all cases; usual
// patterns take some hundred bytes.
const (
	maxSeqs  = 64  // alternatives of one pattern
	maxElems = 128 // bytes of one sequence
)

// set is a set of printable ASCII bytes, one bit each.
type set [2]uint64

func (s *set) add(b byte)     { s[b>>6] |= 1 << (b & 63) }
func (s set) has(b byte) bool { return b < 0x80 && s[b>>6]>>(b&63)&1 != 0 }
func (s set) empty() bool     { return s == set{} }

// single returns the only member.
func (s set) single() (b byte, ok bool) {
	for c := byte(' '); c < 0x7f; c++ {
		if s.has(c) {
			if ok {
				return 0, false
			}
			b, ok = c, true
		}
	}
	return b, ok
}

// status tells what may follow the elements of a sequence.
type status uint8

const (
	open   status = iota // anything; the pattern ends here
	tail                 // anything, by ".*" in the pattern
	ended                // nothing: the input must end here
	unsure               // undecided: the elements are required, then the regular expression decides
)

// seq is one way to match plain input: its elements in sequence.
type seq struct {
	elems    []set
	floating bool // may start anywhere; otherwise at the first byte
	end      status
}

// shape extracts the sequences of a pattern. Over plain input, the pattern matches if and
// only if one of them does; unsure ones also need the expression.
func (p *pattern) shape() {
	p.seqs = p.expand(p.tree, []seq{{floating: true}})
	p.need = p.needed(p.tree)
}

// expand appends the matches of re to every sequence of in.
func (p *pattern) expand(re *syntax.Regexp, in []seq) []seq {
	if final(in) {
		return in
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return in
	case syntax.OpNoMatch:
		return nil
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			in = appendSet(in, p.runeSet(r, re.Flags&syntax.FoldCase != 0))
		}
		return in
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return appendSet(in, p.classSet(re))
	case syntax.OpBeginText, syntax.OpBeginLine:
		return begin(in)
	case syntax.OpEndText, syntax.OpEndLine:
		return finish(in)
	case syntax.OpCapture:
		return p.expand(re.Sub[0], in)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			in = p.expand(sub, in)
		}
		return in
	case syntax.OpAlternate, syntax.OpQuest:
		return p.branch(re, in)
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return p.repeat(re, in)
	}
	return unsureAll(in) // word boundaries
}

// final reports whether later parts cannot change the sequences.
func final(in []seq) bool {
	for _, q := range in {
		if q.end != unsure {
			return false
		}
	}
	return true
}

// appendSet appends one byte position.
func appendSet(in []seq, s set) []seq {
	if s.empty() {
		return alive(in, func(q seq) bool { return q.end == unsure })
	}
	out := make([]seq, 0, len(in))
	for _, q := range in {
		switch {
		case q.end == ended:
			continue // no byte follows the end
		case q.end == open && len(q.elems) < maxElems:
			q.elems = append(slices.Clip(q.elems), s)
		default:
			q.end = unsure
		}
		out = append(out, q)
	}
	return out
}

// begin keeps the sequences that can be at the start of the input. (?m)^ is equivalent,
// because plain input has one line.
func begin(in []seq) []seq {
	out := alive(in, func(q seq) bool { return len(q.elems) == 0 || q.end == unsure })
	for i := range out {
		if len(out[i].elems) == 0 && out[i].end == open {
			out[i].floating = false
		} else {
			out[i].end = unsure
		}
	}
	return out
}

// finish requires the end of the input.
func finish(in []seq) []seq {
	out := slices.Clone(in)
	for i := range out {
		if out[i].end == open {
			out[i].end = ended
		}
	}
	return out
}

func unsureAll(in []seq) []seq {
	out := slices.Clone(in)
	for i := range out {
		out[i].end = unsure
	}
	return out
}

func alive(in []seq, keep func(seq) bool) []seq {
	out := make([]seq, 0, len(in))
	for _, q := range in {
		if keep(q) {
			out = append(out, q)
		}
	}
	return out
}

// branch expands every alternative, or gives up if there are too many.
func (p *pattern) branch(re *syntax.Regexp, in []seq) []seq {
	var out []seq
	if re.Op == syntax.OpQuest {
		out = slices.Clone(in)
	}
	for _, sub := range re.Sub {
		out = append(out, p.expand(sub, in)...)
		if len(out) > maxSeqs {
			return unsureAll(in)
		}
	}
	return out
}

// repeat writes out the required copies. The regular expression decides about further ones,
// except for ".*" and ".+".
func (p *pattern) repeat(re *syntax.Regexp, in []seq) []seq {
	least := re.Min
	if re.Op != syntax.OpRepeat {
		least = 0
		if re.Op == syntax.OpPlus {
			least = 1
		}
	}
	any := re.Sub[0].Op == syntax.OpAnyChar || re.Sub[0].Op == syntax.OpAnyCharNotNL
	if any && re.Op != syntax.OpRepeat {
		return p.anything(in, least)
	}
	for i := 0; i < least; i++ {
		if i > maxElems { // an empty body could be repeated a thousand times
			return unsureAll(in)
		}
		in = p.expand(re.Sub[0], in)
	}
	if re.Op == syntax.OpRepeat && re.Max == least {
		return in
	}
	return unsureAll(in)
}

// anything appends ".*" or ".+". At the start it makes the rest floating, because ^.*x
// equals x on a single line.
func (p *pattern) anything(in []seq, least int) []seq {
	out := slices.Clone(in)
	if least == 1 {
		out = appendSet(in, plain)
	}
	for i := range out {
		switch q := &out[i]; {
		case q.end == open && len(q.elems) == least && (least == 0 || len(q.elems) == 1):
			q.floating = true
		case q.end == open:
			q.end = tail
		case q.end == ended:
			q.end = unsure
		}
	}
	return out
}

// plain is the set of all bytes of plain input.
var plain = set{0xffffffff_00000000, 0x7fffffff_ffffffff}

// runeSet returns the plain bytes a literal rune matches.
func (p *pattern) runeSet(r rune, fold bool) set {
	var s set
	p.addRune(&s, r)
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			p.addRune(&s, f)
		}
	}
	return s
}

func (p *pattern) addRune(s *set, r rune) {
	if p.isPlain(r) {
		s.add(byte(r))
	}
}

// isPlain reports whether the rune can occur in plain input of this kind.
func (p *pattern) isPlain(r rune) bool {
	return r >= ' ' && r < 0x7f && !(p.host && r >= 'A' && r <= 'Z')
}

// classSet returns the plain bytes of a character class.
func (p *pattern) classSet(re *syntax.Regexp) set {
	if re.Op != syntax.OpCharClass {
		return plain
	}
	var s set
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for r := max(re.Rune[i], ' '); r <= min(re.Rune[i+1], 0x7e); r++ {
			p.addRune(&s, r)
		}
	}
	return s
}
