package regexcost_test

import (
	"regexp/syntax"
	"testing"

	"github.com/sluicelb/sluice/core/regexcost"
)

func parse(t *testing.T, text string) *syntax.Regexp {
	t.Helper()
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return re
}

func TestRangesCountsAllClasses(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 0, "[a-c]": 1, "[ace]": 3, "([a-c]|x[ace])*": 4, "[a-c]{3}": 1} {
		if got := regexcost.Ranges(parse(t, text)); got != want {
			t.Errorf("%q: got %d ranges, want %d", text, got, want)
		}
	}
}

func TestStepsExpandsRepetitions(t *testing.T) {
	for text, want := range map[string]int{
		"": 1, "a": 1, "abc": 3, "a|bc": 6, "(a)": 3, "(abc){4}": 4 * (1 + 1 + 1 + 1 + 3), "a{2,5}": 5 * 3, "a{3,}": 3 * 3, "a{0}": 3, "a*": 3,
		"(?:xxx){1000}": 1000 * 5, "(?:xxx){1000}(?:xxx){1000}(?:xxx){1000}": regexcost.MaxSteps + 1,
	} {
		if got := regexcost.Steps(parse(t, text)); got != want {
			t.Errorf("%q: got %d steps, want %d", text, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	if regexcost.MaxSteps != 10_000 || regexcost.MaxRanges != 32_000 {
		t.Errorf("got %d steps and %d ranges, want 10000 and 32000", regexcost.MaxSteps, regexcost.MaxRanges)
	}
}
