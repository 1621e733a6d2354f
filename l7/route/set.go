package route

import "regexp/syntax"

// Set is a list of patterns searched in one text, e.g. a field line. Like a Table it uses
// literal prefixes instead of running every regular expression. It is immutable.
type Set struct {
	patterns []*pattern
	texts    []string // as configured
	trie     *trie
	starts   [4]uint64 // possible first bytes of a text with a match
}

// CompileSet compiles the patterns in order. It returns the errors of Compile, with Part
// "pattern".
func CompileSet(patterns []string, ignoreCase bool) (*Set, error) {
	s := &Set{texts: patterns}
	read := parseURL
	if ignoreCase {
		read = parseFold
	}
	var root branch
	for i, text := range patterns {
		p, err := read(text)
		if err != nil {
			return nil, &Error{Rule: i, Part: "pattern", Pattern: text, Err: err}
		}
		s.patterns = append(s.patterns, p)
		s.begin(p)
		for _, pl := range p.trieSeqs() {
			root.add(pl, entry{value: int32(i)})
		}
	}
	s.trie = root.freeze(true)
	return s, nil
}

// begin adds the bytes with which texts matching p may begin. The shape of p is only
// sufficient if it also holds for texts that are not plain after their first byte.
func (s *Set) begin(p *pattern) {
	all := [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	if beyondPlain(p.tree) {
		s.starts = all
		return
	}
	for _, q := range p.seqs {
		if q.floating || len(q.elems) == 0 {
			s.starts = all
			return
		}
		s.starts[0] |= q.elems[0][0]
		s.starts[1] |= q.elems[0][1]
	}
}

// beyondPlain reports whether a pattern has parts that match no plain text, which its shape
// omits, or line anchors, because plain texts have a single line.
func beyondPlain(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine:
		return true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r < ' ' || r > '~' {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '~' && re.Rune[i+1] >= ' ' {
				return false
			}
		}
		return true
	}
	for _, sub := range re.Sub {
		if beyondPlain(sub) {
			return true
		}
	}
	return false
}

// Starts reports whether a text that begins with the plain byte b can match. If not, Match
// is unnecessary.
func (s *Set) Starts(b byte) bool { return s.starts[b>>6]>>(b&63)&1 != 0 }

// Match returns the index of the first pattern found in b, or -1. It does not allocate.
func (s *Set) Match(b []byte) int {
	if !plainTarget(b) {
		for i, p := range s.patterns {
			if p.re.Match(b) {
				return i
			}
		}
		return -1
	}
	w := walk{target: b, best: int32(len(s.patterns))}
	w.urls(s.trie, 0, 0)
	if int(w.best) == len(s.patterns) {
		return -1
	}
	return int(w.best)
}
