//go:build !race

// The race detector takes half a minute here and cannot find anything, because the test shares
// no memory.

package language_test

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/sluicelb/sluice/mgmt/lint/language"
)

// The answers agree with regexp on all short texts.
func TestAnswersAgreeWithRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "/", ".", "[ab]", "a*", "(a|b/)", "^/", "$", `\b`, "b+", "(ab)?", "[^a]", "(?i)A"}
	texts := []string{"/"}
	for i := 0; len(texts[i]) < 6; i++ {
		for _, c := range []string{"a", "b", "/", "A", "-"} {
			texts = append(texts, texts[i]+c)
		}
	}
	random := func() (out string) {
		for range 1 + r.IntN(4) {
			out += parts[r.IntN(len(parts))]
		}
		return out
	}
	for range 400 {
		x, y := random(), random()
		a, b := regexp.MustCompile(x), regexp.MustCompile(y)
		within, only := language.Within(target(t, x), target(t, y), language.NewBudget(10_000_000))
		overlap, both := language.Overlap(target(t, x), target(t, y), language.NewBudget(10_000_000))
		if within == language.No && (!a.MatchString(only) || b.MatchString(only)) || overlap == language.Yes && !(a.MatchString(both) && b.MatchString(both)) ||
			within == language.Unknown || overlap == language.Unknown {
			t.Errorf("%q and %q: %v %q, %v %q", x, y, within, only, overlap, both)
		}
		for _, text := range texts {
			inA, inB := a.MatchString(text), b.MatchString(text)
			if inA && !inB && within != language.No || inA && inB && overlap != language.Yes {
				t.Fatalf("%q and %q: of %q %v and %v, answered %v and %v", x, y, text, inA, inB, within, overlap)
			}
		}
	}
}
