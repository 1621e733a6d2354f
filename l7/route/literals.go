package route

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// Bounds of the literals extracted from a pattern.
const (
	maxAny  = 16 // literals in a set
	maxText = 64 // bytes of a literal
	maxCopy = 16 // copies of a repeat that are written out
)

// anyOf is a set of lower-case literals. Plain input that matches the pattern contains at
// least one of them, ignoring case. An empty set means that no plain input matches.
type anyOf []string

// facts describes the plain texts that an expression matches.
type facts struct {
	// exact means that it matches texts and nothing else. Anchors and word boundaries count
	// as the empty text; the expression checks them.
	exact bool
	texts anyOf
	need  []anyOf // each of these sets is required; valid unless exact
}

// literals returns the sets of literals that a match of re requires. Each can rule out an
// input on its own.
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
		parts = append(parts, facts{}) // further copies
	}
	return joined(parts)
}

// oneByte returns the facts of one byte of a set.
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

// joined returns the facts of a concatenation. Adjacent exact parts are combined within the
// bounds.
func joined(parts []facts) facts {
	out, growing := facts{exact: true}, anyOf{""}
	for _, f := range parts {
		switch {
		case f.exact && len(f.texts) == 0:
			return f // nothing matches
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

// either returns the facts of an alternation.
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

// add adds a required set. A set with the empty text requires nothing.
func (f *facts) add(s anyOf) {
	if !slices.Contains(s, "") {
		f.need = append(f.need, s)
	}
}

// sets returns the required sets.
func (f facts) sets() []anyOf {
	if f.exact {
		f.need = nil
		f.add(f.texts)
	}
	return f.need
}

// fits reports whether the concatenations of a and b stay within the bounds.
func (a anyOf) fits(b anyOf) bool {
	return len(a)*len(b) <= maxAny && a.longest()+b.longest() <= maxText
}

// times returns all concatenations of a and b.
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

// shortest returns the length of the shortest text; maxText for an empty set.
func (a anyOf) shortest() int {
	n := maxText
	for _, s := range a {
		n = min(n, len(s))
	}
	return n
}
