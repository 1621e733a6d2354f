package route

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/regexcost"
)

func TestRequiredLiteralsAreExtracted(t *testing.T) {
	for pattern, want := range map[string]string{
		`^/app(1|2)/[a-z]+/x$`:        "/app1/ /app2/; /x",
		`(www|shop)[a-z]*07\.(org|n)`: "shop www; 07.n 07.org",
		`[a-z]+/A[bB]`:                "/ab",
		`[0-9]+x`:                     "0 1 2 3 4 5 6 7 8 9; x",
		`(?i)Kſ`:                      "ks",
		`é?a`:                         "a",
		`a|[b-z]+cd`:                  "a cd",
		`a|.*`:                        "",
		`(ab)?`:                       "",
		`(ab)*c`:                      "c",
		`(ab){2,}c`:                   "abab; c",
		`(ab){2}c`:                    "ababc",
		`(ab){0,2}`:                   "",
		`(a|)b?`:                      "",
		`x\b.\by`:                     "x; y",
		`\x{fffd}`:                    "none",
		`a(\n|b)`:                     "ab",
		`[A-GZa-gz0-7]`:               "0 1 2 3 4 5 6 7 a b c d e f g z",
		"[@`]x":                       "@x `x",
		`[\[{]x`:                      "[x {x",
	} {
		p, err := parseURL(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, set := range p.literals(p.tree) {
			if len(set) == 0 {
				set = anyOf{"none"}
			}
			got = append(got, strings.Join(set, " "))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%q: %q, want %q", pattern, s, want)
		}
	}
}

func TestLiteralsStayWithinTheirBounds(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("(a|b|c)", 40), strings.Repeat("abcdefgh", 500), "(x{100}y){10}", strings.Repeat("[ab]?", 30) + "q"} {
		p, err := parseURL(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sets := p.literals(p.tree)
		if len(sets) == 0 {
			t.Errorf("%.20q requires no literal", pattern)
		}
		for _, set := range sets {
			if len(set) > maxAny || set.longest() > maxText {
				t.Errorf("%.20q: %d literals, the longest of %d bytes", pattern, len(set), set.longest())
			}
		}
		r := rarity{}
		r.note(0, sets)
		if best := r.rarest(sets); len(best) > maxAny || best.longest() > maxLiteral {
			t.Errorf("%.20q: looked for are %q", pattern, best)
		}
	}
}

func TestRarestLiteralIsSearched(t *testing.T) {
	sets := [][]anyOf{
		{{"/"}, {"/a/long/beginning/of/many/001"}},
		{{"/"}, {"/a/long/beginning/of/many/002"}},
		{{"/"}, {"xy"}, {"own"}},
		{{"/"}, {"abc", "own"}},
		{{"zz"}, {"zz"}, {"zz"}, {"yyy"}},
		{{"yyy"}},
	}
	r := rarity{}
	for i, s := range sets {
		r.note(i, s)
	}
	for i, want := range []string{"ing/of/many/001", "ing/of/many/002", "xy", "abc", "zz"} {
		if got := r.rarest(sets[i]); !strings.HasSuffix(got[0], want) {
			t.Errorf("pattern %d: %q, want %q", i, got, want)
		}
	}
}

func TestAutomatonFindsEveryLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab/]{1,5}`)
		// Sometimes more than there are bits, so that some are shared.
		n := rapid.SampledFrom([]int{1, 5, 50, 3 * numBits}).Draw(t, "literals")
		words := rapid.SliceOfN(word, 1, min(n, 50)).Draw(t, "words")
		root := &sprout{}
		share := shareOf(n)
		for i := range n {
			w := words[i%len(words)]
			if i >= len(words) {
				w += strings.Repeat("d", 1+i/len(words)) // occurs in no text
			}
			root.add(w, uint16(i>>share))
		}
		text := rapid.StringMatching(`[abAB/]{0,30}`).Draw(t, "text")
		var got bits
		a := root.build()
		a.scan([]byte(text), &got)
		for i, w := range words {
			if strings.Contains(strings.ToLower(text), w) && !got.has(uint16(i>>share)) {
				t.Fatalf("%q in %q is not found", w, text)
			}
			if n <= 50 && got.has(uint16(i)) && !strings.Contains(strings.ToLower(text), w) {
				t.Fatalf("%q is found in %q", w, text)
			}
		}
	})
}

// The end of each literal begins the next one, repeatedly.
func TestAutomatonContinuesFromTheLongestSuffix(t *testing.T) {
	root := &sprout{}
	for i, w := range []string{"aac", "abab/", "baba", "b/", "k[z@`", "{za}"} {
		root.add(w, uint16(i))
	}
	a := root.build()
	for text, want := range map[string]uint64{"aaaac": 1, "ababab/": 14, "abbab/": 8, "xbababa": 4, "aabaca": 0, "K[Z@`": 16, "k{z@`": 0, "{ZA}": 32, "[za]": 0, "{`a}": 0} {
		var got bits
		a.scan([]byte(text), &got)
		if got[0] != want {
			t.Errorf("%q: %b, want %b", text, got[0], want)
		}
	}
}

// marks returns the patterns of list that are candidates.
func marks(a *automaton, list []candidate, text string) (out []int32) {
	var b bits
	a.scan([]byte(text), &b)
	for _, c := range list {
		if b.has(c.bit) {
			out = append(out, c.value)
		}
	}
	return out
}

func TestHostsAreMatchedWithAndWithoutPort(t *testing.T) {
	for _, text := range []string{`a`, `a$`, `a:8`, `a:8$`, `a.8$`, `a[:;]8$`, `a[9:]8$`, `a[0:]8$`, `a[(0:;]8$`, `a[^b]8$`, `(?s:a.)8\z`, `a\b`, `a\B`, `a(?m:$)`, `a$|b`, `b|a:$`, `a:?$`, `:`, `^$`, ``} {
		p, err := parseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"a", "a:8", "a:", "b:8", "a:88", ":8", "", "é:8", "a\xc3:8"} {
			bare := bareLen([]byte(host))
			want := p.re.MatchString(host) || p.re.MatchString(host[:bare])
			if got := p.matches([]byte(host), bare); got != want {
				t.Errorf("%q matches %q: %v, want %v", text, host, got, want)
			}
		}
	}
}

func TestOneOfManyPatternsIsACandidate(t *testing.T) {
	table, err := Compile(Services(300))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int32{0, 217} {
		if got := marks(table.hostWords, table.sifted, fmt.Sprintf("shop%03d.example.org:80", i)); !slices.Equal(got, []int32{i}) {
			t.Errorf("host: %d, want %d", got, i)
		}
	}
	if got := table.groups[217].sifted; got != nil {
		t.Errorf("the only URL pattern of a host waits for a literal: got %v, want nil", got)
	}
	rules := Services(300)
	for i := range rules {
		rules[i].Host = "a"
	}
	if table, err = Compile(rules); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int32{0, 217} {
		if got := marks(table.urlWords, table.groups[0].sifted, fmt.Sprintf("/app%03d/v2/9", i)); !slices.Equal(got, []int32{i}) {
			t.Errorf("URL: %d, want %d", got, i)
		}
	}
}

// Patterns at the limits are accepted; larger ones are not.
func TestPatternsMayFillTheirLimits(t *testing.T) {
	class, err := syntax.Parse(`\pL`, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	each := regexcost.Ranges(class)
	ranges := func(n int) string { return strings.Repeat(`\pL`, n/each) + strings.Repeat(`\d`, n%each) }
	const half = `(?:xxx){1000}` // 5,001 steps of its own
	for name, c := range map[string]struct{ most, more string }{
		"bytes":  {strings.Repeat("a", MaxPattern), strings.Repeat("a", MaxPattern+1)},
		"steps":  {half + `(?:` + strings.Repeat("y", 17) + `){263}`, half + `(?:yyyyy){714}`},
		"ranges": {ranges(regexcost.MaxRanges), ranges(regexcost.MaxRanges + 1)},
	} {
		if err := limited(c.most); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := limited(c.more); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s, one more: %v", name, err)
		}
	}
	if MaxPattern != 4096 {
		t.Errorf("got a limit of %d bytes, want 4096", MaxPattern)
	}
}
