package route

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/regexcost"
)

// MaxPattern is the longest pattern in bytes. See regexcost for the other limits.
const MaxPattern = 4096

// pattern is one distinct host or URL pattern.
type pattern struct {
	re   *regexp.Regexp // defines what matches
	tree *syntax.Regexp // parsed form, to extract its shape
	host bool           // matched against hosts
	seqs []seq          // its shape over plain input; one of them must match
	need []byte         // required substring of plain input when re runs, or nil
	// toEnd and colon avoid a second match; valid with host.
	toEnd, colon bool
	dfa          *dfa // matches plain input instead of re; may be nil
}

// parseHost compiles a host pattern: case-insensitive, anchored at the start and, if it is a
// name, at the end.
func parseHost(text string) (*pattern, error) {
	text = farm.HostPattern(text)
	// On its own first, so that an unbalanced ")" cannot close our group.
	if err := limited(text); err != nil {
		return nil, err
	}
	p, err := compile("(?i)^(?:" + text + ")")
	if err != nil {
		// The text alone is valid, so an unterminated \Q swallowed our bracket.
		p, err = compile("(?i)^(?:" + text + `\E)`)
	}
	if err != nil {
		return nil, err
	}
	p.host, p.toEnd, p.colon = true, asksForEnd(p.tree), takesColon(p.tree)
	p.shape()
	return p, nil
}

// parseURL compiles a pattern that is searched anywhere in a text.
func parseURL(text string) (*pattern, error) { return parse(text, "") }

// parseFold is parseURL without regard to case.
func parseFold(text string) (*pattern, error) { return parse(text, "(?i)") }

// parse compiles a pattern with flags.
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

// compile compiles a text whose size was checked.
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

// limited parses the text without compiling it and refuses patterns that would take too much
// memory or time.
func limited(text string) error {
	if len(text) > MaxPattern {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(text), MaxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return explain(err)
	}
	if regexcost.Steps(tree) > regexcost.MaxSteps {
		return fmt.Errorf("%w: it needs more than %d steps; use smaller repeats", ErrTooLarge, regexcost.MaxSteps)
	}
	if n := regexcost.Ranges(tree); n > regexcost.MaxRanges {
		return fmt.Errorf("%w: its character classes hold %d ranges, at most %d are allowed", ErrTooLarge, n, regexcost.MaxRanges)
	}
	return nil
}

// matches runs the defining regular expression. Parameter bare is the length of the host
// without its port and is ignored for URL patterns. A host with a port is tried with and
// without it, unless one attempt implies the other. Without an end anchor, a match of the
// bare host is also a match of the whole host. A pattern that accepts no colon ends before
// the port.
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

// ways returns the texts to try: one or two.
func (p *pattern) ways(s []byte, bare int) (one, other []byte) {
	switch {
	case !p.host || bare == len(s) || !p.toEnd:
		return s, nil
	case !p.colon:
		return s[:bare], nil
	}
	return s[:bare], s
}

// asksForEnd reports whether the end of the text matters to re. Word boundaries do not
// count, because the port is cut off at a colon, which is not part of a word.
func asksForEnd(re *syntax.Regexp) bool {
	return re.Op == syntax.OpEndText || re.Op == syntax.OpEndLine || slices.ContainsFunc(re.Sub, asksForEnd)
}

// takesColon reports whether a match of re can contain a colon.
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
