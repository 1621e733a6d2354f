package httpfarm

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/sluicelb/sluice/core/regexcost"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// CheckPattern compiles a regex like the engine (RE2 syntax), and explains common features
// of other engines that RE2 lacks.
func CheckPattern(s string) string {
	_, problem := compilePattern(s)
	return problem
}

// commented matches a number sign at the start or after a blank, i.e. a comment in
// configuration files. No path contains that, so such a pattern would never match.
var commented = regexp.MustCompile(`(^|\s)#`)

// checkURLPattern is CheckPattern for paths, where comments are rejected.
func checkURLPattern(s string) string {
	if commented.MatchString(s) {
		return "comments are not allowed: write \\# for the sign itself"
	}
	return CheckPattern(s)
}

// CheckVeiled is CheckPattern for a regex that may contain masked credentials (Unveil).
func CheckVeiled(s string) string { return CheckPattern(unhidden(s)) }

// unhidden replaces each masked credential by a word, so that the regex is valid.
func unhidden(s string) string { return strings.ReplaceAll(s, probe.Hidden, "hidden") }

// compilePattern returns the number of groups of a regex, or the problem.
func compilePattern(s string) (groups int, problem string) {
	if i := strings.IndexFunc(s, format.IsControl); i >= 0 {
		return 0, "it holds a control character"
	}
	if strings.Contains(s, "(?#") {
		return 0, "comments are not allowed"
	}
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return 0, explainPattern(s, err)
	}
	switch {
	case regexcost.Steps(re) > regexcost.MaxSteps:
		return 0, fmt.Sprintf("it has more than %d steps when it is compiled: use smaller repetitions", regexcost.MaxSteps)
	case regexcost.Ranges(re) > regexcost.MaxRanges:
		return 0, fmt.Sprintf("its character classes hold more than %d ranges", regexcost.MaxRanges)
	}
	return re.MaxCap(), ""
}

// explainPattern names the feature of another regex engine that a pattern uses.
func explainPattern(s string, err error) string {
	var known *syntax.Error
	if !errors.As(err, &known) {
		return err.Error()
	}
	escaped := known.Code == syntax.ErrInvalidEscape && len(known.Expr) == 2
	switch {
	case lookAround(s):
		return "look-around is not available (RE2 syntax)"
	case strings.Contains(s, "(?>"):
		return "atomic groups are not available (RE2 syntax): write (?:…)"
	case known.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(known.Expr, "+"):
		return "possessive quantifiers are not available (RE2 syntax): leave the second + out"
	case escaped && known.Expr[1] >= '1' && known.Expr[1] <= '9':
		return "back-references are not available (RE2 syntax)"
	case escaped:
		return fmt.Sprintf("the escape %s is not available (RE2 syntax)", known.Expr)
	case known.Code == syntax.ErrInvalidRepeatSize:
		return fmt.Sprintf("%s: at most 1000 repetitions are possible", known.Expr)
	}
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

func lookAround(s string) bool {
	for _, ahead := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(s, ahead) {
			return true
		}
	}
	return false
}

// checkGroups rejects $1 … $9 in a replacement without a matching group. Any other $ is
// literal.
func checkGroups(replace string, groups int) string {
	for i := 0; i+1 < len(replace); i++ {
		if n := int(replace[i+1] - '0'); replace[i] == '$' && n >= 1 && n <= 9 && n > groups {
			return fmt.Sprintf("$%d stands for a group the pattern does not have; it has %d", n, groups)
		}
	}
	return ""
}
