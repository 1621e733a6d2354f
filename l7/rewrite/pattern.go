package rewrite

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/sluicelb/sluice/l7/route"
)

// Groups is where a match and its groups 1 to 9 are: [2n] to [2n+1] for group
// n, both -1 for one that took no part.
type Groups [20]int

// Pattern is a regular expression whose groups are asked for. It is immutable.
type Pattern struct {
	prog     *syntax.Prog
	re       *regexp.Regexp // for texts the matcher has no room for
	prefix   []byte         // what every match begins with
	anchored bool           // matches begin at the first byte
}

// CompilePattern reads a pattern under the limits of package route.
func CompilePattern(text string, ignoreCase bool) (*Pattern, error) {
	// The limits and their words are route's.
	if _, err := route.CompileSet([]string{text}, ignoreCase); err != nil {
		return nil, err
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	return &Pattern{prog: prog, re: re, prefix: literalStart(prog), anchored: prog.StartCond()&syntax.EmptyBeginText != 0}, nil
}

// literalStart is what every match of a program begins with.
func literalStart(prog *syntax.Prog) (prefix []byte) {
	for inst := &prog.Inst[prog.Start]; ; inst = &prog.Inst[inst.Out] {
		switch {
		case inst.Op == syntax.InstNop, inst.Op == syntax.InstCapture:
		case inst.Op == syntax.InstEmptyWidth && len(prefix) == 0:
		case inst.Op == syntax.InstRune1,
			inst.Op == syntax.InstRune && len(inst.Rune) == 1 && syntax.Flags(inst.Arg)&syntax.FoldCase == 0:
			if inst.Rune[0] == utf8.RuneError {
				return prefix // it takes bytes that are no UTF-8 too
			}
			prefix = utf8.AppendRune(prefix, inst.Rune[0])
		default:
			return prefix
		}
	}
}

// Find looks for the first match in b, as regexp's FindSubmatchIndex does.
func (p *Pattern) Find(b []byte, g *Groups, s *Scratch) bool {
	if len(p.prefix) > 0 && (p.anchored && !bytes.HasPrefix(b, p.prefix) || !p.anchored && !bytes.Contains(b, p.prefix)) {
		return false
	}
	if len(p.prog.Inst)*(len(b)+1) > maxVisits {
		return p.findLong(b, g)
	}
	return s.find(p, b, g)
}

// findLong is Find for long texts or patterns. It allocates.
func (p *Pattern) findLong(b []byte, g *Groups) bool {
	found := p.re.FindSubmatchIndex(b)
	if found == nil {
		return false
	}
	for i := range g {
		g[i] = -1
	}
	copy(g[:], found)
	return true
}
