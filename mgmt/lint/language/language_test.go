package language_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/lint/language"
)

func target(t *testing.T, pattern string) *language.Language {
	t.Helper()
	l, err := language.Target(pattern, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTargetsAreComparedExactly(t *testing.T) {
	for _, c := range []struct {
		inner, outer string
		within       language.Answer
		overlap      language.Answer
	}{
		{"", "^/", language.Yes, language.Yes}, // all texts begin with a slash
		{"^/", "", language.Yes, language.Yes},
		{"^/app/", "^/app", language.Yes, language.Yes},
		{"^/app", "^/app/", language.No, language.Yes},
		{"^/a", "^/b", language.No, language.No},
		{"^/api/v[12]/", "^/api/v[0-9]/", language.Yes, language.Yes},
		{"^/api/v[0-9]/", "^/api/v[12]/", language.No, language.Yes},
		{`\.png$`, `\.(png|gif)$`, language.Yes, language.Yes},
		{`\.png$`, `^/img/`, language.No, language.Yes},
		{`^/img/.*\.png$`, `^/img/`, language.Yes, language.Yes},
		{`^/img/.*\.png$`, `\.png`, language.Yes, language.Yes},
		{`^/a$`, `^/a$`, language.Yes, language.Yes},
		{`^/a$`, `^/b$`, language.No, language.No},
		{`^/.*$`, "", language.Yes, language.Yes},
		{"", "^/.*$", language.Yes, language.Yes},
		{`^/(a|b)+$`, `^/[ab]*$`, language.Yes, language.Yes},
		{`^/[ab]*$`, `^/(a|b)+$`, language.No, language.Yes},
		{`\bcat\b`, `cat`, language.Yes, language.Yes},
		{`cat`, `\bcat\b`, language.No, language.Yes},
		{`\bcat\b`, `\Bcat`, language.No, language.Yes},
		{`(?i)/APP`, `/app`, language.No, language.Yes},
		{`/app`, `(?i)/APP`, language.Yes, language.Yes},
		{`x{3,5}`, `x{3}`, language.Yes, language.Yes},
		{`[^a]`, `.`, language.Yes, language.Yes},
		{`a$^`, `b`, language.Yes, language.No}, // matches nothing
		{`ä`, `[ä-ö]`, language.Yes, language.Yes},
		{`(?:^/shop/|^/cart/)`, `^/(shop|cart|pay)/`, language.Yes, language.Yes},
	} {
		budget := language.NewBudget(1_000_000)
		got, text := language.Within(target(t, c.inner), target(t, c.outer), budget)
		if got != c.within {
			t.Errorf("%q within %q: got %v, want %v", c.inner, c.outer, got, c.within)
		}
		if got == language.No && (!takes(c.inner, text) || takes(c.outer, text) || !strings.HasPrefix(text, "/")) {
			t.Errorf("%q within %q: %q is not an example that only the first matches", c.inner, c.outer, text)
		}
		got, text = language.Overlap(target(t, c.inner), target(t, c.outer), budget)
		if got != c.overlap {
			t.Errorf("%q overlaps %q: got %v, want %v", c.inner, c.outer, got, c.overlap)
		}
		if got == language.Yes && (!takes(c.inner, text) || !takes(c.outer, text)) {
			t.Errorf("%q overlaps %q: %q is no text that both take", c.inner, c.outer, text)
		}
	}
}

func takes(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

func TestHostsMatchFromTheStartCaseInsensitively(t *testing.T) {
	for _, c := range []struct {
		inner, outer string
		want         language.Answer
	}{
		{`www\.example\.com`, ``, language.Yes}, {``, `www\.example\.com`, language.No}, {``, `.*`, language.Yes},
		{`WWW\.example\.com$`, `www\.EXAMPLE\.`, language.Yes}, {`WWW\.example\.com$`, `www.EXAMPLE.com`, language.Yes}, {`www\.example\.`, `www\.example`, language.No}, {`example\.com`, `.*example\.com`, language.Yes}, {`.*example\.com`, `example\.com`, language.No},
		{`a|b`, `[ab]`, language.Yes}, {`[a-z]+\.example\.com$`, `.*\.example\.com`, language.Yes}, {`^a`, `[a]`, language.Yes}, {`^a`, `a`, language.No}, {`\Qa.b`, `a[.]b`, language.Yes},
	} {
		inner, err := language.Host(c.inner)
		if err != nil {
			t.Fatal(err)
		}
		outer, err := language.Host(c.outer)
		if err != nil {
			t.Fatal(err)
		}
		if got, text := language.Within(inner, outer, language.NewBudget(1_000_000)); got != c.want {
			t.Errorf("%q within %q: %v %q", c.inner, c.outer, got, text)
		}
	}
}

func TestExpensiveComparisonsAreUnknown(t *testing.T) {
	long := target(t, `[ab]*a[ab]{12}$`) // as many states as possible endings
	if got, _ := language.Within(long, target(t, `[ab]*b[ab]{13}$`), language.NewBudget(1<<40)); got != language.No {
		t.Errorf("a difference near the beginning: got %v, want %v", got, language.No)
	}
	if got, _ := language.Within(long, target(t, `[ab]{13}$`), language.NewBudget(100_000)); got != language.Unknown {
		t.Errorf("beyond the budget: got %v, want %v", got, language.Unknown)
	}
	if got, _ := language.Overlap(target(t, `a[ab]{14}c$`), target(t, `b[ab]{14}d$`), language.NewBudget(1<<40)); got != language.Unknown {
		t.Errorf("beyond the pairs: got %v, want %v", got, language.Unknown)
	}
	if got, _ := language.Within(target(t, "a"), target(t, "b"), language.NewBudget(0)); got != language.Unknown {
		t.Errorf("without a budget: got %v, want %v", got, language.Unknown)
	}
	for _, bad := range []string{"(", "x{1000}x{1000}x{1000}x{1000}x{1000}x{1000}"} {
		if _, err := language.Target(bad, false); err == nil {
			t.Errorf("%s is compiled", bad)
		}
	}
	if _, err := language.Host("("); err == nil {
		t.Error("a broken host is compiled")
	}
	if _, err := language.Line("("); err == nil {
		t.Error("a broken line is compiled")
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("^/a", "^/[ab]", "/ab")
	f.Add(`\bx\b`, `(?i)X$`, "/x")
	f.Fuzz(func(t *testing.T, x, y, text string) {
		a, errA := language.Target(x, false)
		b, errB := language.Target(y, false)
		if errA != nil || errB != nil || !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return
		}
		budget := language.NewBudget(200_000)
		within, _ := language.Within(a, b, budget)
		overlap, _ := language.Overlap(a, b, budget)
		inA, inB := takes(x, text), takes(y, text)
		if inA && !inB && within == language.Yes || inA && inB && overlap == language.No {
			t.Errorf("%q and %q: of %q %v and %v, answered %v and %v", x, y, text, inA, inB, within, overlap)
		}
	})
}
