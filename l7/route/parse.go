package route

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of one pattern. A program of MaxProgram instructions takes about
// 400 KB and bounds the work per input byte; hand-written rules stay far below.
const (
	// MaxPattern is the longest pattern in bytes.
	MaxPattern = 4096
	// MaxProgram is the largest compiled program in instructions, counted
	// with repeats written out.
	MaxProgram = 10_000
	// maxRanges bounds the character ranges of all classes of a pattern:
	// a few letters like \pL stand for hundreds of them.
	maxRanges = 32_000
)

// pattern is one distinct host or URL pattern.
type pattern struct {
	re   *regexp.Regexp // defines what matches
	tree *syntax.Regexp // the same, for reading its shape
	host bool           // matched against hosts
	seqs []seq          // its shape over plain input; any of them must match
	need []byte         // a substring plain input must hold when re runs, or nil
	// toEnd and colon spare matches a run; valid with host.
	toEnd, colon bool
	dfa          *dfa // decides about plain input; nil where re does
}

// parseHost compiles a host pattern: anchored at the start, at the end too when it
// is a name, case ignored.
func parseHost(text string) (*pattern, error) {
	if farm.IsHostName(text) {
		text += "$"
	}
	// Alone first, so that an unbalanced ")" cannot close our own group.
	if err := limited(text); err != nil {
		return nil, err
	}
	p, err := compile("(?i)^(?:" + text + ")")
	if err != nil {
		// The text is valid alone, so an open \Q swallowed our bracket.
		p, err = compile("(?i)^(?:" + text + `\E)`)
	}
	if err != nil {
		return nil, err
	}
	p.host, p.toEnd, p.colon = true, asksForEnd(p.tree), takesColon(p.tree)
	p.shape()
	return p, nil
}

// parseURL compiles a pattern that is searched anywhere.
func parseURL(text string) (*pattern, error) { return parse(text, "") }

// parseFold is parseURL without regard to case.
func parseFold(text string) (*pattern, error) { return parse(text, "(?i)") }

// parse compiles a pattern behind flags, which count for all of it.
func parse(text, flags string) (*pattern, error) {
	if err := limited(text); err != nil {
		return nil, err
	}
	p, err := compile(flags + text)
	if err != nil {
		return nil, err
	}
	p.shape()
	return p, nil
}

// compile makes the program of a text whose size was checked before.
func compile(text string) (*pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, explain(err)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, explain(err)
	}
	return &pattern{re: re, tree: tree}, nil
}

// limited parses the text without compiling it and refuses what would take
// too much memory or time.
func limited(text string) error {
	if len(text) > MaxPattern {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(text), MaxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return explain(err)
	}
	if n := programSize(tree); n > MaxProgram {
		return fmt.Errorf("%w: it needs more than %d steps; use smaller repeats", ErrTooLarge, MaxProgram)
	}
	if n := rangeCount(tree); n > maxRanges {
		return fmt.Errorf("%w: its character classes hold %d ranges, at most %d are allowed", ErrTooLarge, n, maxRanges)
	}
	return nil
}

// programSize counts instructions with repeats written out, and stops caring
// once the limit is passed (so nested repeats cannot overflow).
func programSize(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += 1 + programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return min(n, MaxProgram+1)
}

func rangeCount(re *syntax.Regexp) int {
	n := 0
	if re.Op == syntax.OpCharClass {
		n = len(re.Rune) / 2
	}
	for _, sub := range re.Sub {
		n += rangeCount(sub)
	}
	return n
}

// matches runs the defining regular expression; bare tells how far the host
// reaches without its port and is ignored for URL patterns. A host with a port
// is tried both ways, unless one of them can say nothing the other does not:
// without an anchor at the end what matches the bare host matches the whole, and
// what takes no colon ends before the port.
func (p *pattern) matches(s []byte, bare int) bool {
	one, other := p.ways(s, bare)
	return p.re.Match(one) || other != nil && p.re.Match(other)
}

// matchesPlain is matches for plain input.
func (p *pattern) matchesPlain(s []byte, bare int) bool {
	if p.dfa == nil {
		return p.matches(s, bare)
	}
	one, other := p.ways(s, bare)
	return p.dfa.match(one) || other != nil && p.dfa.match(other)
}

// ways returns what has to be tried: one text, or two.
func (p *pattern) ways(s []byte, bare int) (one, other []byte) {
	switch {
	case !p.host || bare == len(s) || !p.toEnd:
		return s, nil
	case !p.colon:
		return s[:bare], nil
	}
	return s[:bare], s
}

// asksForEnd reports whether the end of the text matters to re. To a word
// boundary it does not where a port is cut off: a colon is no part of a word.
func asksForEnd(re *syntax.Regexp) bool {
	return re.Op == syntax.OpEndText || re.Op == syntax.OpEndLine || slices.ContainsFunc(re.Sub, asksForEnd)
}

// takesColon reports whether a match of re can hold a colon.
func takesColon(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, ':')
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= ':' && ':' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, takesColon)
}
