package route

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// Bounds of what is read out of a pattern.
const (
	maxAny  = 16 // literals of which one must be there
	maxText = 64 // bytes of a literal
	maxCopy = 16 // copies of a repeat that are written out
)

// anyOf is a set of literals in lower case: plain input a pattern matches holds
// one of them at least, in whatever case. A set without any says that the
// pattern matches no plain input.
type anyOf []string

// facts is what is known of the plain texts an expression matches.
type facts struct {
	// exact says that texts are all it matches. Anchors and word boundaries
	// count as the empty text: where they hold is left to the expression.
	exact bool
	texts anyOf
	need  []anyOf // each of these sets holds; valid unless exact
}

// literals returns the sets of literals a match of re needs; every one of them
// is enough to rule an input out.
func (p *pattern) literals(re *syntax.Regexp) []anyOf { return p.learn(re).sets() }

func (p *pattern) learn(re *syntax.Regexp) facts {
	switch re.Op {
	case syntax.OpNoMatch:
		return facts{exact: true}
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpBeginLine, syntax.OpEndText, syntax.OpEndLine,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return facts{exact: true, texts: anyOf{""}}
	case syntax.OpLiteral:
		parts := make([]facts, len(re.Rune))
		for i, r := range re.Rune {
			parts[i] = oneByte(p.runeSet(r, re.Flags&syntax.FoldCase != 0))
		}
		return joined(parts)
	case syntax.OpCharClass:
		return oneByte(p.classSet(re))
	case syntax.OpCapture:
		return p.learn(re.Sub[0])
	case syntax.OpConcat:
		return joined(p.learnAll(re.Sub))
	case syntax.OpAlternate:
		return either(p.learnAll(re.Sub))
	case syntax.OpQuest:
		return either([]facts{p.learn(re.Sub[0]), {exact: true, texts: anyOf{""}}})
	case syntax.OpPlus:
		return facts{need: p.literals(re.Sub[0])}
	case syntax.OpRepeat:
		return p.learnRepeat(re)
	}
	return facts{} // any text
}

func (p *pattern) learnAll(subs []*syntax.Regexp) []facts {
	out := make([]facts, len(subs))
	for i, sub := range subs {
		out[i] = p.learn(sub)
	}
	return out
}

func (p *pattern) learnRepeat(re *syntax.Regexp) facts {
	parts := slices.Repeat([]facts{p.learn(re.Sub[0])}, min(re.Min, maxCopy))
	if re.Max != len(parts) {
		parts = append(parts, facts{}) // more of them
	}
	return joined(parts)
}

// oneByte tells what is known of one byte of a set.
func oneByte(s set) facts {
	f := facts{exact: true}
	for b := byte(' '); b < 0x7f; b++ {
		if s.has(b) && !(b >= 'A' && b <= 'Z' && s.has(b|0x20)) {
			f.texts = append(f.texts, strings.ToLower(string(rune(b))))
		}
	}
	if len(f.texts) > maxAny {
		return facts{}
	}
	return f
}

// joined tells what is known of texts one behind the other. Neighbours that are
// known exactly grow together for as long as the bounds allow.
func joined(parts []facts) facts {
	out, growing := facts{exact: true}, anyOf{""}
	for _, f := range parts {
		switch {
		case f.exact && len(f.texts) == 0:
			return f // nothing matches, whatever is around it
		case f.exact && growing.fits(f.texts):
			growing = growing.times(f.texts)
			continue
		}
		out.exact = false
		out.add(growing)
		growing = anyOf{""}
		if f.exact {
			growing = f.texts
		}
		out.need = append(out.need, f.need...)
	}
	if out.exact {
		out.texts = growing
		return out
	}
	out.add(growing)
	return out
}

// either tells what is known when one of the parts matches.
func either(parts []facts) facts {
	exact, all := true, anyOf{}
	for _, f := range parts {
		exact = exact && f.exact
		all = append(all, f.texts...)
	}
	if all = all.unique(); exact && len(all) <= maxAny {
		return facts{exact: true, texts: all}
	}
	all = anyOf{}
	for _, f := range parts {
		sets := f.sets()
		if len(sets) == 0 {
			return facts{}
		}
		all = append(all, slices.MaxFunc(sets, func(a, b anyOf) int { return a.shortest() - b.shortest() })...)
	}
	if all = all.unique(); len(all) > maxAny {
		return facts{}
	}
	return facts{need: []anyOf{all}}
}

// add notes a set that must hold. One with the empty text always does.
func (f *facts) add(s anyOf) {
	if !slices.Contains(s, "") {
		f.need = append(f.need, s)
	}
}

// sets returns what must hold.
func (f facts) sets() []anyOf {
	if f.exact {
		f.need = nil
		f.add(f.texts)
	}
	return f.need
}

// fits reports whether each text of a before each of b stays within the bounds.
func (a anyOf) fits(b anyOf) bool {
	return len(a)*len(b) <= maxAny && a.longest()+b.longest() <= maxText
}

// times returns each text of a before each of b.
func (a anyOf) times(b anyOf) anyOf {
	out := make(anyOf, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out.unique()
}

func (a anyOf) unique() anyOf { slices.Sort(a); return slices.Compact(a) }

func (a anyOf) longest() int {
	n := 0
	for _, s := range a {
		n = max(n, len(s))
	}
	return n
}

// shortest returns the length of the shortest text; of none it is long.
func (a anyOf) shortest() int {
	n := maxText
	for _, s := range a {
		n = min(n, len(s))
	}
	return n
}
