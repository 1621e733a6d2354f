package rewrite

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/sluicelb/sluice/l7/route"
)

// Groups holds the positions of a match and its groups 1 to 9: [2n] to [2n+1] for group n,
// both -1 for one that did not participate.
type Groups [20]int

// Pattern is a regular expression with groups. It is immutable.
type Pattern struct {
	prog     *syntax.Prog
	re       *regexp.Regexp // for texts beyond maxVisits
	prefix   []byte         // literal prefix of every match
	anchored bool           // matches begin at the first byte
}

// CompilePattern compiles a pattern under the limits of package route.
func CompilePattern(text string, ignoreCase bool) (*Pattern, error) {
	// Limits and error texts come from route.
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

// literalStart returns the literal prefix of every match of a program.
func literalStart(prog *syntax.Prog) (prefix []byte) {
	for inst := &prog.Inst[prog.Start]; ; inst = &prog.Inst[inst.Out] {
		switch {
		case inst.Op == syntax.InstNop, inst.Op == syntax.InstCapture:
		case inst.Op == syntax.InstEmptyWidth && len(prefix) == 0:
		case inst.Op == syntax.InstRune1,
			inst.Op == syntax.InstRune && len(inst.Rune) == 1 && syntax.Flags(inst.Arg)&syntax.FoldCase == 0:
			if inst.Rune[0] == utf8.RuneError {
				return prefix // it also matches bytes that are not UTF-8
			}
			prefix = utf8.AppendRune(prefix, inst.Rune[0])
		default:
			return prefix
		}
	}
}

// Find finds the first match in b, like regexp's FindSubmatchIndex.
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
