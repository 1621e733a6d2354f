package lint

import (
	"regexp/syntax"
	"strings"
)

// beginning is what everything an expression takes begins with, in lower case; known
// is false when that cannot be told at a glance. Expressions for hosts are matched
// from the first byte on, others only where they say so.
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

// apart reports whether two beginnings leave no text that has both.
func apart(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] != b[:n]
}
