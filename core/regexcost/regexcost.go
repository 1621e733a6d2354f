// Package regexcost measures a regular expression before it is compiled. A short pattern with
// repetitions or large character classes can take megabytes and much time for each byte.
package regexcost

import "regexp/syntax"

// The limits of a pattern. A program of MaxSteps takes about 400 KB; hand-written rules stay
// far below.
const (
	MaxSteps  = 10_000 // see Steps
	MaxRanges = 32_000 // see Ranges
)

// Steps returns the approximate number of instructions of the compiled pattern, with
// repetitions expanded. It stops beyond MaxSteps, so that nested repetitions cannot overflow.
func Steps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += 1 + Steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return min(n, MaxSteps+1)
}

// Ranges returns the number of character ranges of all classes. Short classes like \pL have
// hundreds.
func Ranges(re *syntax.Regexp) int {
	n := 0
	if re.Op == syntax.OpCharClass {
		n = len(re.Rune) / 2
	}
	for _, sub := range re.Sub {
		n += Ranges(sub)
	}
	return n
}
