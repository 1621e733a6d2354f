package lint

import (
	"regexp/syntax"
	"strings"
)

// beginning returns the common prefix of all matches of an expression, in lower case; known
// is false if it is not obvious. Host expressions are anchored at the first byte, others
// only explicitly.
func beginning(pattern string, fromFirst bool) (prefix string, known bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	if parts[0].Op == syntax.OpBeginText {
		parts, fromFirst = parts[1:], true
	}
	if !fromFirst || len(parts) == 0 || parts[0].Op != syntax.OpLiteral {
		return "", false
	}
	return strings.ToLower(string(parts[0].Rune)), true
}

// apart reports whether no text can have both prefixes.
func apart(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] != b[:n]
}
