package route_test

import (
	"bytes"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/route"
)

// naive evaluates the two regular expressions of every rule in order. Match must return the
// same.
func naive(rules []route.Rule, host, target []byte, more mask) int {
	bare := regexp.MustCompile(`:[0-9]*\z`).ReplaceAll(host, nil)
	for i, r := range rules {
		h := regexp.MustCompile(`(?i)^(?:` + farm.HostPattern(r.Host) + `)`)
		u := regexp.MustCompile(r.URL)
		if r.IgnoreCase {
			u = regexp.MustCompile("(?i)" + r.URL)
		}
		if (h.Match(host) || h.Match(bare)) && u.Match(target) && (!r.More || more.Holds(i)) {
			return i
		}
	}
	return -1
}

// mask is the set of rules that hold, one bit each.
type mask uint8

func (m mask) Holds(rule int) bool { return m>>rule&1 != 0 }

// tables compiles rules as usual, and with candidates wherever possible.
func tables(rules []route.Rule) (usual, sifted *route.Table, err error) {
	if usual, err = route.Compile(rules); err == nil {
		sifted, err = route.CompileCrowd(rules, 0)
	}
	return usual, sifted, err
}

func agree(t interface{ Fatalf(string, ...any) }, rules []route.Rule, table, sifted *route.Table, host, target []byte, more mask) {
	want := naive(rules, host, target, more)
	if got := table.Match(host, target, more); got != want {
		t.Fatalf("rules %+v host %q target %q: Match %d, naive %d", rules, host, target, got, want)
	}
	if got := sifted.Match(host, target, more); got != want {
		t.Fatalf("rules %+v host %q target %q: Match among candidates %d, naive %d", rules, host, target, got, want)
	}
	reasons, last := table.Explain(host, target, more), -1
	for i, r := range reasons {
		if r.Rule != i || r.Matched() && i != len(reasons)-1 {
			t.Fatalf("reasons %v are not the rules up to the match", reasons)
		}
		if r.Matched() {
			last = i
		}
	}
	if last != want || want < 0 && len(reasons) != len(rules) {
		t.Fatalf("rules %+v host %q target %q: Explain %v, naive %d", rules, host, target, reasons, want)
	}
}

// atoms are small, so that patterns and inputs often match.
var atoms = []string{
	"a", "b", "k", "s", "/", ".", `\.`, ":", "8", "ab", "ba", "/a/", "A", "K", "é", "ſ", "\u212a", `\x{fffd}`, `\n`,
	"[ab]", "[^a]", `\d`, `\w`, `\pL`, `[[:^alpha:]]`, `(?i:a/s)`, `(?s:.)`, `(?m:^)`, `(?m:$)`,
}

func genPattern() *rapid.Generator[string] {
	atom := rapid.SampledFrom(atoms)
	item := rapid.Custom(func(t *rapid.T) string {
		s := atom.Draw(t, "atom")
		switch rapid.IntRange(0, 11).Draw(t, "form") {
		case 0:
			return "(" + s + "|" + atom.Draw(t, "other") + ")"
		case 1:
			return "(?:" + s + ")?"
		case 2:
			return "(?:" + s + ")*"
		case 3:
			return "(?:" + s + ")+"
		case 4:
			return "(?:" + s + "){2,3}"
		case 5:
			return rapid.SampledFrom([]string{".*", ".+", ".*?", "^", "$", `\b`, `\z`, `\A`, "()", "(a|)", "(^|/)", "($|b)"}).Draw(t, "special")
		}
		return s
	})
	return rapid.Custom(func(t *rapid.T) string {
		var p string
		for _, s := range rapid.SliceOfN(item, 0, 5).Draw(t, "items") {
			p += s
		}
		switch rapid.IntRange(0, 5).Draw(t, "frame") {
		case 0:
			return "^" + p
		case 1:
			return p + "$"
		case 2:
			return "^" + p + "$"
		case 3:
			return p + "|" + item.Draw(t, "or")
		}
		return p
	})
}

func genInput() *rapid.Generator[[]byte] {
	odd := rapid.SampledFrom([]string{"a", "b", "k", "s", "/", ".", ":", "8", "ab", "/a/", "A", "K", "é", "ſ", "\u212a", "\xff", "\n", "\x7f", " ", ":80", "aaaaaaa"})
	even := rapid.SampledFrom([]string{"a", "b", "k", "s", "/", ".", ":", "8", "ab", "ba", "/a/", "aaaaaaaa"})
	return rapid.Custom(func(t *rapid.T) []byte {
		piece := odd
		if rapid.IntRange(0, 3).Draw(t, "plain") > 0 {
			piece = even
		}
		var b []byte
		for _, s := range rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces") {
			b = append(b, s...)
		}
		return b
	})
}

func TestMatchEqualsTheRegularExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) route.Rule {
			return route.Rule{Host: genPattern().Draw(t, "host"), URL: genPattern().Draw(t, "url"), IgnoreCase: rapid.Bool().Draw(t, "ignore case"), More: rapid.Bool().Draw(t, "more")}
		}), 1, 5).Draw(t, "rules")
		table, sifted, err := tables(rules)
		if err != nil {
			t.Skip(err)
		}
		for range 8 {
			agree(t, rules, table, sifted, genInput().Draw(t, "host"), genInput().Draw(t, "target"), mask(rapid.Uint8().Draw(t, "hold")))
		}
	})
}

func FuzzCompileMatch(f *testing.F) {
	f.Add(`www\.a\.com$`, `^/app/`, "www.a.com:80", "/app/x")
	f.Add(`www.a.com`, `\.(png|gif)$`, "wwwxa.com", "/a.gif")
	f.Add(`.*\.a\.com`, `^/u/[0-9]+/`, "x.a.com", "/u/1/")
	f.Add(`a|b`, `(^|x)/y.+$`, "b", "x/yz")
	f.Add(`(?-i:A)`, `(?i)^/APP`, "a", "/app")
	f.Add(`\Qa.b`, `(?m)^x$`, "a.b", "y\nx")
	f.Add(`(www|shop)[a-z]*042\.example`, `^/[a-z]+042/(v[0-9]+/)?[0-9a-z]+$`, "shop042.example.org:80", "/app042/v2/9")
	f.Add(`[a-z]*(k|s{2,})[0-9]`, `(?i)x?[KS]+a{3}(b|cd)?.e`, "mk1", "/SsaAab.e")
	f.Add(`\b[^a]{3}`, `(a*)*b`, "bbb", "aab")
	f.Fuzz(func(t *testing.T, hostPattern, urlPattern, host, target string) {
		rules := []route.Rule{
			{Host: hostPattern, URL: urlPattern}, {Host: "a", URL: urlPattern}, {Host: hostPattern, URL: "^/a"},
			{Host: urlPattern, URL: hostPattern, IgnoreCase: true}, {Host: hostPattern + urlPattern, URL: urlPattern + hostPattern},
		}
		table, sifted, err := tables(rules)
		if err != nil {
			return
		}
		for _, r := range rules {
			if _, err := regexp.Compile(`(?i)^(?:` + r.Host + `)`); err != nil {
				return // an unterminated \Q, which Compile closes
			}
		}
		agree(t, rules, table, sifted, []byte(host), []byte(target), 0)
		agree(t, rules, table, sifted, bytes.ToLower([]byte(host)), []byte(target), 0)
	})
}
