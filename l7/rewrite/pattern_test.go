package rewrite_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/rewrite"
)

// FuzzPattern checks that the groups are those found by regexp.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{`^/old/(.*)$`, "/old/page?x=1"}, {`/([a-z]+)/([0-9]+)`, "/shop/tea/42/x"}, {`(a|ab)(c|bcd)(d*)`, "xabcd"},
		{`(a*)*b`, "aaaaaaaaaaaab"}, {`(?i)domain=([^;]*)`, "sid=1; Domain=a.test"}, {`\b(\w+)\b.*\b(\w+)\b`, "one two three"},
		{`(|a)*`, "aaa"}, {`(?m)^x$|(y)`, "z\nx\ny"}, {`(?s).(.)`, "\xff\u00e9\n"}, {`a{2,3}?(b)?`, "aaaab"}, {`$^`, ""},
		{`((((((((((x))))))))))(y)`, "xy"}, {`[^/]+$`, "/a/b"}, {`(?U)a+(b*)`, "aaabbb"}, {`\z|x`, "x"}, {`(^)+(\b)?`, "a"},
	} {
		f.Add(seed[0], seed[1], false)
	}
	// Multi-byte characters, invalid bytes, and control bytes.
	for _, seed := range [][2]string{
		{`[^a\x{e9}]b`, "\u00e9b"}, {`\x{FFFD}`, "\u00e9"}, {`\x{FFFD}x`, "a\xffx"}, {`a\x{20ac}b`, "a\u20acb"}, {`a.c`, "a\nc abc"},
		{`a[^\x00-\x{10FFFF}]`, "ab"}, {`ab+c`, "abb"}, {`\Aab+c`, "xabc"}, {`\Bb\B`, "abc"}, {`(?m)^b$`, "a\nb"}, {`x*`, ""}, {`(a)|b`, "b"},
	} {
		f.Add(seed[0], seed[1], false)
	}
	for _, seed := range [][2]string{{`ab(c)`, "xABC"}, {`^k`, "\u212a"}, {`s`, "\u017f"}, {`[a-c]+X`, "ABCx"}} {
		f.Add(seed[0], seed[1], true)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		p, err := rewrite.CompilePattern(pattern, fold)
		if err != nil {
			return
		}
		if fold {
			pattern = "(?i)" + pattern
		}
		want := regexp.MustCompile(pattern).FindStringSubmatchIndex(text)
		var g rewrite.Groups
		var s rewrite.Scratch
		for range 2 { // leftovers of the first have no effect
			if found := p.Find([]byte(text), &g, &s); found != (want != nil) {
				t.Fatalf("%q in %q: found %v, regexp returns %v", pattern, text, found, want)
			}
			for i := range g {
				if want == nil {
					break
				}
				expect := -1
				if i < len(want) {
					expect = want[i]
				}
				if g[i] != expect {
					t.Fatalf("%q in %q: groups %v, regexp returns %v", pattern, text, g, want)
				}
			}
		}
	})
}

func TestLongTextsAreMatchedToo(t *testing.T) {
	p, err := rewrite.CompilePattern(`^(a|b)*x([0-9]+)(y)?`, false)
	if err != nil {
		t.Fatal(err)
	}
	var g rewrite.Groups
	var s rewrite.Scratch
	for _, n := range []int{10, 10_000, 1_000_000} {
		if text := strings.Repeat("ab", n/2) + "x42"; !p.Find([]byte(text), &g, &s) || g[4] != n+1 || g[5] != n+3 || g[6] != -1 {
			t.Errorf("%d bytes: %v", n, g)
		}
		if p.Find(bytes.Repeat([]byte("ab"), n/2), &g, &s) {
			t.Errorf("%d bytes: a match without x", n)
		}
	}
}

func TestPatternsAreBounded(t *testing.T) {
	for _, bad := range []string{"(", "(?=a)", strings.Repeat("a", 5000), strings.Repeat("a{1000}", 11)} {
		if _, err := rewrite.CompilePattern(bad, false); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
}

var finders = []struct{ name, pattern, text string }{
	{"rest", `^/old/(.*)$`, "/old/some/page.html?with=query"},
	{"groups", `^/shop/([a-z]+)/([0-9]+)`, "/shop/tea/4711/details?x=1"},
	{"floating", `[Dd]omain=([^;]*)`, "sid=0123456789abcdef; Path=/; Domain=app.internal; HttpOnly"},
	{"literal", `internal\.example`, "http://internal.example/path"},
	{"absent", `nowhere`, "/some/page.html?with=query"},
}

func BenchmarkFind(b *testing.B) {
	for _, c := range finders {
		p, err := rewrite.CompilePattern(c.pattern, false)
		if err != nil {
			b.Fatal(err)
		}
		re, text := regexp.MustCompile(c.pattern), []byte(c.text)
		var g rewrite.Groups
		var s rewrite.Scratch
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Find(text, &g, &s)
			}
		})
		b.Run(c.name+"/regexp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				re.FindSubmatchIndex(text)
			}
		})
	}
}
