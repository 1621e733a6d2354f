package route_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/route"
)

func compile(t testing.TB, rules ...route.Rule) *route.Table {
	t.Helper()
	table, err := route.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestFirstMatchingRuleInOrderWins(t *testing.T) {
	table := compile(t,
		route.Rule{Host: `www\.a\.com$`, URL: `^/x$`},
		route.Rule{Host: `www\.a\.com`, URL: `^/app/`},
		route.Rule{Host: `www.a.com`, URL: `\.(png|jpe?g)$`},
		route.Rule{Host: `.*\.b\.com$`},
		route.Rule{URL: `^/u/[0-9]+/edit`},
		route.Rule{Host: `\[::1\]`},
		route.Rule{Host: `port\.com:8080$`},
		route.Rule{URL: `^/app/`},
		route.Rule{Host: `dot\.com\.$`},
		route.Rule{Host: `name.org.:81`},
		route.Rule{Host: `name.org.`},
	)
	for _, c := range []struct {
		host, target string
		want         int
	}{
		{"dot.com", "/", 8},
		{"dot.com:80", "/", 8},
		{"dot.com.au", "/", -1},
		{"name.org", "/", 10},
		{"name.org:80", "/", 10},
		{"name.org:81", "/", 9},
		{"name.org.uk", "/", -1},
		{"name.orgy", "/", -1},
		{"www.a.com", "/x", 0},
		{"www.a.com:8080", "/x", 0},
		{"www.a.com.evil", "/x", -1},
		{"www.a.com", "/x?q", -1},
		{"www.a.com", "/app/1", 1},
		{"www.a.com.au", "/app/1", 7},
		{"www.a.com.evil.org", "/app/1", 7},
		{"www.a.com.evil.org:80", "/app/1", 7},
		{"www.a.com:80", "/app/1", 1},
		{"www.a.com.x", "/i/1.jpg", -1},
		{"wwwxa-com", "/i/1.png", 2},
		{"www.a.com", "/i/1.jpg", 2},
		{"www.a.com", "/i/1.jpg?", -1},
		{"x.b.com:1", "/", 3},
		{"b.com", "/", -1},
		{"q", "/u/17/edit", 4},
		{"q", "/u/x/edit", -1},
		{"[::1]:80", "/", 5},
		{"port.com:8080", "/", 6},
		{"port.com", "/", -1},
		{"", "/app/", 7},
		{"WWW.A.COM", "/x", 0},
		{"www.a.com", "/x\xff", -1},
		{"q", "/app/\xc3\xa9", 7},
	} {
		if got := table.Match([]byte(c.host), []byte(c.target), nil); got != c.want {
			t.Errorf("Match(%q, %q) = %d, want %d", c.host, c.target, got, c.want)
		}
	}
}

func TestFurtherConditionsAreCheckedInOrder(t *testing.T) {
	table := compile(t,
		route.Rule{URL: "^/a", More: true},
		route.Rule{URL: "^/a", More: true},
		route.Rule{URL: "^/"},
		route.Rule{URL: "^/", More: true},
	)
	for hold, want := range map[mask]int{0: 2, 1: 0, 2: 1, 3: 0, 8: 2} {
		if got := table.Match([]byte("h"), []byte("/a/b"), hold); got != want {
			t.Errorf("with %b: %d, want %d", hold, got, want)
		}
	}
	if got := table.Match([]byte("h"), []byte("/b"), mask(3)); got != 2 {
		t.Errorf("a rule whose URL does not match was selected: got %d, want 2", got)
	}
}

func TestFirstOfManyRegexesWins(t *testing.T) {
	for name, edit := range map[string]func(*route.Rule){
		"hosts": func(r *route.Rule) { r.URL = "" },
		"URLs":  func(r *route.Rule) { r.Host = "" },
		"both":  func(*route.Rule) {},
	} {
		for _, n := range []int{400, 1500} { // fewer patterns than bits, and more
			rules := route.Services(n)
			rules = append(rules, rules[200:300]...) // never reached
			for i := range rules {
				edit(&rules[i])
			}
			table := compile(t, rules...)
			for i := range n {
				host, target := fmt.Sprintf("shop%03d.example.net:80", i), fmt.Sprintf("/item%03d/v1/x", i)
				if got := table.Match([]byte(host), []byte(target), nil); got != i {
					t.Errorf("%d %s: %s%s: rule %d, want %d", n, name, host, target, got, i)
				}
			}
			if got := table.Match([]byte("shop1500.example.com"), []byte("/item1500"), nil); got != -1 {
				t.Errorf("%d %s: rule %d", n, name, got)
			}
		}
	}
}

func TestCandidatesAndOthersAreInOneOrder(t *testing.T) {
	rules := route.Services(30)
	for i := range rules {
		rules[i].Host = "a"
	}
	rules[10].URL, rules[25].URL = "^/many020/", "" // in a trie
	table := compile(t, rules...)
	for target, want := range map[string]int{"/many020/x": 10, "/other020/x": 20, "/x027/y": 25, "/x007/y": 7, "/x028": 25} {
		if got := table.Match([]byte("a"), []byte(target), nil); got != want {
			t.Errorf("%s: rule %d, want %d", target, got, want)
		}
	}
}

// asked counts the evaluations of Conditions.
type asked struct{ n int }

func (a *asked) Holds(int) bool { a.n++; return false }

func TestFurtherConditionsOfCandidatesAreCheckedInOrder(t *testing.T) {
	rules := route.Services(20)
	for i := range rules {
		rules[i] = route.Rule{Host: rules[3].Host, URL: rules[5].URL, More: i < 18}
	}
	table := compile(t, rules...)
	var more asked
	if got := table.Match([]byte("www003.example.org"), []byte("/a005/b"), &more); got != 18 || more.n != 18 {
		t.Errorf("rule %d after %d questions", got, more.n)
	}
	if got := table.Match([]byte("www003.example.org"), []byte("/a006/b"), &more); got != -1 || more.n != 18 {
		t.Errorf("rule %d after %d questions", got, more.n)
	}
}

func BenchmarkCompile(b *testing.B) {
	rules := route.Services(1000)
	for b.Loop() {
		if _, err := route.Compile(rules); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNoRulesMatchNothing(t *testing.T) {
	if got := compile(t).Match([]byte("a"), []byte("/"), nil); got != -1 {
		t.Errorf("got %d", got)
	}
}

func TestExplainNamesThePartThatDidNotMatch(t *testing.T) {
	rules := []route.Rule{{Host: "a", URL: "^/x"}, {Host: "b", URL: "^/x"}, {Host: "a", URL: "^/y"}, {Host: "b", More: true}, {Host: "b", IgnoreCase: true}, {}}
	table := compile(t, rules...)
	var got []string
	for _, r := range table.Explain([]byte("b"), []byte("/y"), mask(0)) {
		got = append(got, r.String())
		if table.Rule(r.Rule) != rules[r.Rule] {
			t.Errorf("rule %d is %+v", r.Rule, table.Rule(r.Rule))
		}
	}
	want := "rule 0: neither host nor URL match|rule 1: the URL does not match|rule 2: the host does not match|" +
		"rule 3: what it asks for besides host and URL does not hold|rule 4 matches"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestErrorsNameRuleAndConstruct(t *testing.T) {
	for _, c := range []struct {
		rule route.Rule
		says string
		is   error
	}{
		{route.Rule{Host: `www(?!2)\.a`}, "rule 1: host pattern \"www(?!2)\\\\.a\": negative look-ahead", route.ErrNotRE2},
		{route.Rule{URL: `(?=x)`}, "look-ahead (?=…)", route.ErrNotRE2},
		{route.Rule{URL: `(?<=x)y`}, "look-behind", route.ErrNotRE2},
		{route.Rule{URL: `(?<!x)y`}, "negative look-behind", route.ErrNotRE2},
		{route.Rule{URL: `(?>x)y`}, "atomic group", route.ErrNotRE2},
		{route.Rule{URL: `(a)\1`}, `back-reference \1`, route.ErrNotRE2},
		{route.Rule{URL: `(?P<n>a)\k<n>`}, `back-reference \k`, route.ErrNotRE2},
		{route.Rule{URL: `a++`}, `possessive repeat`, route.ErrNotRE2},
		{route.Rule{URL: `a\Z`}, `end anchor \Z`, route.ErrNotRE2},
		{route.Rule{URL: `(a)\9`}, `back-reference \9`, route.ErrNotRE2},
		{route.Rule{URL: `\y`}, "invalid escape sequence", nil},
		{route.Rule{URL: `\:\é`}, "invalid escape sequence", nil},
		{route.Rule{URL: `a**`}, "invalid nested repetition operator", nil},
		{route.Rule{URL: "(" + strings.Repeat("a", 79)}, `url pattern "(` + strings.Repeat("a", 79) + `": `, nil},
		{route.Rule{URL: "(" + strings.Repeat("a", 80)}, `url pattern "(` + strings.Repeat("a", 79) + `…": `, nil},
		{route.Rule{URL: `a)|(b`}, "unexpected )", nil},
		{route.Rule{Host: `a)|(b`}, "unexpected )", nil},
		{route.Rule{URL: `[`}, "missing closing ]", nil},
		{route.Rule{URL: strings.Repeat("a", route.MaxPattern+1)}, "4097 bytes", route.ErrTooLarge},
		{route.Rule{URL: strings.Repeat(`a{1000}`, 11)}, "smaller repeats", route.ErrTooLarge},
		{route.Rule{Host: strings.Repeat(`((.x.y){10}z){10}`, 40)}, "smaller repeats", route.ErrTooLarge},
		{route.Rule{URL: `((a{100}){100})`}, "invalid repeat count", nil},
		{route.Rule{URL: strings.Repeat(`\pL`, 1000)}, "ranges", route.ErrTooLarge},
	} {
		_, err := route.Compile([]route.Rule{{}, c.rule})
		var e *route.Error
		if !errors.As(err, &e) || e.Rule != 1 {
			t.Errorf("%+v: got %v", c.rule, err)
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %q lacks %q", err, c.says)
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v is not %v", err, c.is)
		}
		if route.CheckHost(c.rule.Host) == nil && route.CheckURL(c.rule.URL) == nil {
			t.Errorf("%+v passes the checks", c.rule)
		}
	}
}

func TestQuotedHostWithoutEndIsAccepted(t *testing.T) {
	table := compile(t, route.Rule{Host: `\Qwww.a.com`})
	if route.CheckHost(`\Qwww.a.com`) != nil || route.CheckURL("^/[a-z]") != nil {
		t.Error("the checks refuse patterns that Compile accepts")
	}
	if table.Match([]byte("www.a.com"), nil, nil) != 0 || table.Match([]byte("wwwxa.com"), nil, nil) != -1 {
		t.Error("the quoted text is not literal")
	}
}

// hundred returns services with one host and one URL prefix each.
func hundred(form string) []route.Rule {
	rules := make([]route.Rule, 100)
	for i := range rules {
		rules[i] = route.Rule{Host: fmt.Sprintf(form, i), URL: fmt.Sprintf(`^/service%03d/`, i)}
	}
	return rules
}

func BenchmarkMatch(b *testing.B) {
	shared := hundred("www.%03d.example.com")
	regexes := hundred("www.%03d.example.com")
	for i := range regexes {
		shared[i].Host = "www.a.com"
		regexes[i].URL = fmt.Sprintf(`^/service%03d/[a-z]+/[0-9]+`, i)
	}
	for _, c := range []struct {
		name, host string
		rules      []route.Rule
	}{
		{"one", "www.000.example.com:8080", hundred(`www.%03d.example.com`)[:1]},
		{"hundred", "www.099.example.com:8080", hundred(`www.%03d.example.com`)},
		{"hundredEscaped", "www.099.example.com:8080", hundred(`www\.%03d\.example\.com$`)},
		{"hundredURLs", "www.a.com", shared},
		{"hundredRegexes", "www.099.example.com:8080", regexes},
		{"hundredRealRegexes", "shop099.example.org:8080", route.Services(100)},
	} {
		table := compile(b, c.rules...)
		host, target := []byte(c.host), []byte(fmt.Sprintf("/service%03d/items/4711?order=asc", len(c.rules)-1))
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if table.Match(host, target, nil) != len(c.rules)-1 {
					b.Fatal("wrong rule")
				}
			}
		})
	}
}
