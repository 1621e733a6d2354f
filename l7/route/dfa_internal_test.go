package route

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// dfaOf returns the DFA of an expression with at most that many slots.
func dfaOf(t interface{ Fatal(...any) }, text string, most int) *dfa {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return newDFA(tree, most)
}

func TestDFAAgreesWithItsExpression(t *testing.T) {
	for _, text := range []string{
		`^/[a-z]+042/(v[0-9]+/)?[0-9a-z]+$`, `(?i)^(?:(www|shop)[a-z]*042\.example\.(org|net)$)`, `a{2,3}b|c+$`, `(?m)^a.*b$`, `x^a`, `a$b`, `(a|^)b`, `a(b|$)`,
		`^(a|b)*abb$`, `(?i)K[^a]s`, `[^a-y]{3}`, `^a+(b?)$|^$`,
	} {
		d, re := dfaOf(t, text, maxDFA), regexp.MustCompile(text)
		if d == nil {
			t.Errorf("%s: none", text)
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			s := []byte(rapid.OneOf(rapid.StringMatching(`[abcxkKS/.]{0,12}`), rapid.StringMatching(`/?[a-z]{0,3}042/?(v1/)?[a-z~ ]{0,3}`),
				rapid.StringMatching(`(shop|www)[a-z]{0,2}042\.example\.(org|net)?`)).Draw(t, "s"))
			if got, want := d.match(s), re.Match(s); got != want {
				t.Fatalf("%s in %q: %t, want %t", text, s, got, want)
			}
		})
	}
}

func TestUnsuitableExpressionsGetNoDFA(t *testing.T) {
	long := `^(a|b)*a(a|b){7}$` // each repeat doubles the states
	for text, most := range map[string]int{
		`a\bc`: maxDFA, `a\Bc`: maxDFA, `a*`: maxDFA, long: maxDFA, `^abc$`: 15, strings.Repeat("a", maxDFASteps): maxDFA,
	} {
		if dfaOf(t, text, most) != nil {
			t.Errorf("%.20s has one of %d slots", text, most)
		}
	}
	for text, most := range map[string]int{`^(a|b)*a(a|b){5}$`: maxDFA, `^abc$`: 30, strings.Repeat("a", 150): maxDFA} {
		if dfaOf(t, text, most) == nil {
			t.Errorf("%.20s has none of %d slots", text, most)
		}
	}
}

// Patterns beyond the total bound are decided by their expressions.
func TestDFAsOfATableAreBounded(t *testing.T) {
	const n = 3000
	table, err := Compile(Services(n))
	if err != nil {
		t.Fatal(err)
	}
	slots := 0
	for _, r := range table.rules {
		for _, p := range []*pattern{r.host, r.url} {
			if p.dfa != nil {
				slots += len(p.dfa.next)
			}
		}
	}
	if table.rules[0].host.dfa == nil || table.rules[n-1].url.dfa != nil || slots > maxDFAs {
		t.Errorf("%d slots", slots)
	}
	for _, service := range []string{"000", "2999"} {
		want := 0
		if service != "000" {
			want = n - 1
		}
		if got := table.Match([]byte("shop"+service+".example.org"), []byte("/service"+service+"/items"), nil); got != want {
			t.Errorf("%s: got %d, want %d", service, got, want)
		}
	}
}
