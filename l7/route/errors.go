package route

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// ErrTooLarge means that a pattern exceeds MaxPattern or a limit of regexcost.
var ErrTooLarge = errors.New("pattern is too large")

// ErrNotRE2 means that a pattern uses a construct of backtracking engines (PCRE) without
// equivalent here.
var ErrNotRE2 = errors.New("not supported by the RE2 syntax")

// Error identifies the pattern that Compile refused.
type Error struct {
	Rule    int    // index into the rules given to Compile; 0 from CheckHost and CheckURL
	Part    string // "host" or "url"
	Pattern string
	Err     error // wraps ErrTooLarge, ErrNotRE2 or a *syntax.Error
}

// Error returns the rule, the part and the problem.
func (e *Error) Error() string {
	p := e.Pattern
	if len(p) > 80 {
		p = p[:80] + "…"
	}
	return fmt.Sprintf("rule %d: %s pattern %q: %v", e.Rule, e.Part, p, e.Err)
}

// Unwrap returns the problem without its position.
func (e *Error) Unwrap() error { return e.Err }

// pcreOnly maps prefixes quoted by syntax.Parse to the usual names of the constructs. Longer
// prefixes come first.
var pcreOnly = []struct{ quote, name string }{
	{"(?<=", "look-behind (?<=…)"},
	{"(?<!", "negative look-behind (?<!…)"},
	{"(?=", "look-ahead (?=…)"},
	{"(?!", "negative look-ahead (?!…)"},
	{"(?>", "atomic group (?>…)"},
	{"(?|", "branch reset (?|…)"},
	{"(?#", "comment (?#…)"},
	{"(?(", "conditional (?(…)…)"},
	{"(?R", "recursion (?R)"},
	{"(?&", "recursion (?&…)"},
	{`\k`, `back-reference \k`},
	{`\g`, `back-reference \g`},
	{`\K`, `match reset \K`},
	{`\Z`, `end anchor \Z (write $)`},
	{`\h`, `blank class \h (write [ \t])`},
	{`\R`, `line break \R`},
	{`\X`, `grapheme \X`},
	{`\G`, `anchor \G`},
}

// explain adds the remedy to a parser error.
func explain(err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return err
	}
	if name, ok := foreign(se); ok {
		return fmt.Errorf("%s is %w: write the rule without it", name, ErrNotRE2)
	}
	return err
}

// foreign returns the name of the PCRE construct in a parser error.
func foreign(se *syntax.Error) (string, bool) {
	switch se.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrMissingParen, syntax.ErrInvalidNamedCapture:
		for _, c := range pcreOnly {
			if strings.HasPrefix(se.Expr, c.quote) {
				return c.name, true
			}
		}
		if se.Code == syntax.ErrInvalidEscape && len(se.Expr) == 2 && se.Expr[1] >= '1' && se.Expr[1] <= '9' {
			return "back-reference " + se.Expr, true
		}
	case syntax.ErrInvalidRepeatOp:
		if len(se.Expr) >= 2 && strings.HasSuffix(se.Expr, "+") {
			return "possessive repeat " + se.Expr, true
		}
	}
	return "", false
}
