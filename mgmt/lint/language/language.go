package language

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"

	"github.com/sluicelb/sluice/core/farm"
)

// Language is the set of texts that an expression matches.
type Language struct {
	prog *syntax.Prog
	// anchored: a match starts at the first letter.
	anchored bool
	// begin is the first letter of all texts.
	begin rune
}

// noRune represents the start and the end of a text.
const noRune rune = -1

// Host returns the language of a host pattern; a blank one matches all.
func Host(pattern string) (*Language, error) {
	if pattern == "" {
		return compile("", noRune)
	}
	pattern = farm.HostPattern(pattern)
	l, err := compile("(?i)^(?:"+pattern+")", noRune)
	if err != nil { // an open \Q swallows the parenthesis
		l, err = compile("(?i)^(?:"+pattern+`\E)`, noRune)
	}
	return l, err
}

// Target returns the language of a pattern for paths with query.
func Target(pattern string, ignoreCase bool) (*Language, error) {
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	return compile(pattern, '/')
}

// Line returns the language of a pattern searched in header lines.
func Line(pattern string) (*Language, error) { return compile(pattern, noRune) }

// mostSteps bounds a program; longer ones are not compared.
const mostSteps = 5000

func compile(text string, begin rune) (*Language, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > mostSteps {
		return nil, fmt.Errorf("it has more than %d steps", mostSteps)
	}
	return &Language{prog, prog.StartCond()&syntax.EmptyBeginText != 0, begin}, nil
}

// state is the state of a program between two letters: its possible steps, ascending, as a text
// so that it can be a map key. If matched is true, a match was found and further letters are
// irrelevant.
type state struct {
	steps   string
	matched bool
}

// dead reports whether no continuation can match.
func (l *Language) dead(s state) bool { return !s.matched && l.anchored && s.steps == "" }

// first returns the state before the first letter.
func (l *Language) first() state { return state{steps: keyOf([]uint32{uint32(l.prog.Start)})} }

func keyOf(steps []uint32) string {
	out := make([]byte, 0, 4*len(steps))
	for _, pc := range steps {
		out = binary.BigEndian.AppendUint32(out, pc)
	}
	return string(out)
}

// step reads letter r after before. noRune ends the text; then only matched of the result
// is meaningful.
func (l *Language) step(s state, before, r rune, b *Budget) state {
	if s.matched {
		return s
	}
	open := l.closure(s, syntax.EmptyOpContext(before, r), b)
	if open == nil {
		return state{matched: true}
	}
	if r == noRune {
		return state{}
	}
	var next []uint32
	for _, pc := range open {
		if i := &l.prog.Inst[pc]; i.MatchRune(r) {
			next = append(next, i.Out)
		}
	}
	if !l.anchored {
		next = append(next, uint32(l.prog.Start))
	}
	slices.Sort(next)
	return state{steps: keyOf(slices.Compact(next))}
}

// closure lists the steps that read a letter under the position assertions in flags; nil if
// a match is reached without reading.
func (l *Language) closure(s state, flags syntax.EmptyOp, b *Budget) []uint32 {
	seen, out := make([]bool, len(l.prog.Inst)), []uint32{}
	var stack []uint32
	for i := 0; i < len(s.steps); i += 4 {
		stack = append(stack, binary.BigEndian.Uint32([]byte(s.steps[i:i+4])))
	}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		b.spend(1)
		i := &l.prog.Inst[pc]
		switch i.Op {
		case syntax.InstMatch:
			return nil
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, i.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&^flags == 0 {
				stack = append(stack, i.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			out = append(out, pc)
		}
	}
	return out
}

// letters returns one letter of each class that the programs distinguish.
func letters(of ...*Language) []rune {
	// Requests contain no control characters. Position assertions distinguish word
	// characters.
	borders := []rune{' ', '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, 0x7f, 0x80, 0xd800, 0xe000, unicode.MaxRune + 1}
	for _, l := range of {
		for i := range l.prog.Inst {
			borders = appendBorders(borders, &l.prog.Inst[i])
		}
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	var out []rune
	for i := 0; i+1 < len(borders); i++ {
		from, to := borders[i], borders[i+1]
		if from < ' ' || from == 0x7f || from == 0xd800 {
			continue
		}
		out = append(out, readable(from, to))
	}
	return out
}

func appendBorders(borders []rune, i *syntax.Inst) []rune {
	if i.Op != syntax.InstRune && i.Op != syntax.InstRune1 {
		return borders
	}
	if len(i.Rune) == 1 {
		r := i.Rune[0]
		borders = append(borders, r, r+1)
		if syntax.Flags(i.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				borders = append(borders, f, f+1)
			}
		}
		return borders
	}
	for k := 0; k+1 < len(i.Rune); k += 2 {
		borders = append(borders, i.Rune[k], i.Rune[k+1]+1)
	}
	return borders
}

// readable returns a letter of a class, preferably a common one. x represents other letters
// well.
func readable(from, to rune) rune {
	for _, r := range "x-" {
		if from <= r && r < to {
			return r
		}
	}
	return from
}
