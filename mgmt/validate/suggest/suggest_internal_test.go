package suggest

import (
	"strings"
	"testing"
)

func TestNamesAreAsFarApartAsLettersMustChange(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ab", "ba", 1}, {"xab", "xba", 1}, {"abx", "bax", 1}, {"abcd", "badc", 2}, {"abc", "cab", 2}, {"ca", "abc", 3},
		{"kitten", "sitting", 3}, {"abc", "abcd", 1}, {"bcd", "abcd", 1}, {"acd", "abcd", 1}, {"axcd", "abcd", 1}, {"abc", "xyz", 3}, {"aab", "aba", 1}, {"abab", "baba", 2}, {"vprot", "vport", 1},
	} {
		if got, back := editDistance(c.a, c.b), editDistance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("the distances of %q and %q are %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
	for _, c := range []struct {
		word, name string
		want       int
	}{{"time", "contimeout", 2}, {"tim", "contimeout", 2}, {"ti", "contimeout", 8}, {"contimeou", "contimeout", 1}, {"contimeout", "time", 6}} {
		if got := distance(c.word, c.name); got != c.want {
			t.Errorf("%q is %d from %q, want %d", c.word, got, c.name, c.want)
		}
	}
}

// A short list of names is shown completely; from a long one, the nearest are suggested.
func TestSuggestionsAreNearOrComplete(t *testing.T) {
	few := strings.Fields("aaaa bbbb cccc dddd eeee ffff gggg hhhh")
	many := append(few, "iiii")
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"aaab", few, ` (did you mean "aaaa"?); allowed are aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh`},
		{"aabb", few, `; allowed are aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh`},
		{"aaaabb", few, ` (did you mean "aaaa"?); allowed are aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh`},
		{"b", few[:1], `; allowed are aaaa`}, {"x", nil, "; allowed are "},
		{"hhhi", many, ` (did you mean "hhhh"?)`},
		{strings.Repeat("a", 64) + "hhhh", many, ""},
	} {
		if got := For(c.word, c.known); got != c.want {
			t.Errorf("%q: %s, want %s", c.word, got, c.want)
		}
	}
}
