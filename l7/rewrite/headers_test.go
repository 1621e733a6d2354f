package rewrite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/route"
)

// browser is a browser's request.
const browser = "GET /static/js/main.8f3a.js?v=12 HTTP/1.1\r\n" +
	"Host: www.example.com\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-US,en;q=0.5\r\n" +
	"Accept-Encoding: gzip, deflate, br\r\n" +
	"Connection: keep-alive\r\n" +
	"Cookie: session=0123456789abcdef; theme=dark\r\n" +
	"Referer: http://www.example.com/index.html\r\n\r\n"

func parsed(t testing.TB, head string) *http1.Request {
	t.Helper()
	r := new(http1.Request)
	if n, err := r.Parse([]byte(head)); n != len(head) || err != nil {
		t.Fatal(n, err)
	}
	return r
}

func remover(t testing.TB, patterns ...string) *rewrite.Remover {
	t.Helper()
	var rules []farm.HeaderRemove
	for _, p := range patterns {
		rules = append(rules, farm.HeaderRemove{Pattern: p})
	}
	r, err := rewrite.NewRemover(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEmptyRulesCompileToNil(t *testing.T) {
	remove, err1 := rewrite.NewRemover(nil)
	replace, err2 := rewrite.NewReplacer(nil, nil)
	lines, err3 := rewrite.Lines(nil)
	if remove != nil || replace != nil || lines != nil || err1 != nil || err2 != nil || err3 != nil {
		t.Error("no rules are something")
	}
}

func TestRulesReplaceOnceInOrder(t *testing.T) {
	r := parsed(t, browser)
	replace, err := rewrite.NewReplacer(
		[]farm.HeaderReplace{{Header: "^cookie$", Match: "(e)(s)", Replace: "<$2$1$3$9$$>"}},
		[]farm.HeaderReplace{{Header: "^cookie$", Match: "<(..)", Replace: "[$1"}, {Header: "x", Match: "e", Replace: ""}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var s rewrite.Scratch
	if err := replace.Replace(&r.Head, &s); err != nil {
		t.Fatal(err)
	}
	if got := r.Value(r.Find(http1.KnownCookie)); string(got) != "s[se$$>sion=0123456789abcdef; theme=dark" {
		t.Errorf("got %q", got)
	}
}

// told is an Observer that records its calls.
type told []string

func (o *told) Removed(h *http1.Head, i, rule int) {
	*o = append(*o, fmt.Sprintf("rule %d removed %s", rule, h.Name(i)))
}

func (o *told) Replaced(h *http1.Head, i, rule int, before []byte) {
	*o = append(*o, fmt.Sprintf("rule %d made %s of %s: %s", rule, h.Value(i), h.Name(i), before))
}

// fields returns the fields of a head that rules keep.
func fields(r *http1.Request) (lines []string) {
	for i := range r.NumFields {
		if !r.Fields[i].Removed() {
			lines = append(lines, fmt.Sprintf("%s: %s", r.Name(i), r.Value(i)))
		}
	}
	return lines
}

// rulable is a head in which rules may change A, B and C.
const rulable = "GET / HTTP/1.1\r\nHost: abc\r\nA:  abc \r\nX-Forwarded-For: abc\r\nB:xbc\r\nContent-Length: 0\r\nC: abc\r\n\r\n"

func TestRulesReportTheirChanges(t *testing.T) {
	for _, observed := range []bool{true, false} {
		r := parsed(t, rulable)
		var s rewrite.Scratch
		var o told
		if observed {
			s.Observe(&o)
		}
		remove := remover(t, "^nothing", "^A: a", "bc$")
		if remove.Finds(&r.Head, 1, &s) != 1 || remove.Finds(&r.Head, 3, &s) != 2 || remove.Finds(&r.Head, 2, &s) != -1 || remove.Finds(&r.Head, 0, &s) != 2 {
			t.Error("Finds disagrees with Remove")
		}
		remover(t, "^A: a", "^nothing", "^[hxB].*: .bc$").Remove(&r.Head, &s)
		replace, err := rewrite.NewReplacer([]farm.HeaderReplace{{Header: "^[ABX]", Match: "", Replace: "z"}},
			[]farm.HeaderReplace{{Header: "c", Match: "nothing", Replace: "z"}, {Header: ".", Match: "(b)c", Replace: "$1-$1"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := replace.Replace(&r.Head, &s); err != nil {
			t.Fatal(err)
		}
		if got, want := fields(r), []string{"Host: abc", "X-Forwarded-For: abc", "Content-Length: 0", "C: ab-b"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if want := []string{"rule 0 removed A", "rule 2 removed B", "rule 2 made ab-b of C: abc"}; observed && !slices.Equal(o, want) {
			t.Errorf("the observer got %q, want %q", o, want)
		}
	}
}

func TestFindLineGivesTheFirstFieldOfAnyPattern(t *testing.T) {
	r := parsed(t, rulable)
	var s rewrite.Scratch
	for _, c := range []struct {
		patterns       []string
		field, pattern int
	}{
		{[]string{"^C: abc$", "^B: xbc$"}, 3, 1},
		{[]string{"^Q", "abc$"}, 0, 1},
		{[]string{"^X-Forwarded-For"}, -1, -1},
		{[]string{"^a: ABC$"}, 1, 0},
		{[]string{"^Q"}, -1, -1},
	} {
		set, err := route.CompileSet(c.patterns, true)
		if err != nil {
			t.Fatal(err)
		}
		if field, pattern := s.FindLine(&r.Head, set); field != c.field || pattern != c.pattern {
			t.Errorf("%q: field %d by pattern %d, want %d by %d", c.patterns, field, pattern, c.field, c.pattern)
		}
	}
}

func TestValuesMayFillAHeadAndNotMore(t *testing.T) {
	replace, err := rewrite.NewReplacer([]farm.HeaderReplace{{Header: "^A$", Match: "^(.*)$", Replace: "$1$1"}})
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]error{http1.MaxHead / 2: nil, http1.MaxHead/2 + 1: http1.ErrHeadTooLong} {
		r := parsed(t, "GET / HTTP/1.1\r\nHost: h\r\nA: "+strings.Repeat("x", length)+"\r\n\r\n")
		var s rewrite.Scratch
		if err := replace.Replace(&r.Head, &s); err != want {
			t.Errorf("a value of %d bytes twice: %v, want %v", length, err, want)
		}
	}
}

func TestLinesValidateAddedFields(t *testing.T) {
	for header, want := range map[string]string{
		"X-A: b":               "X-A: b\r\n",
		"X-A:\t b : c \t":      "X-A: b : c\r\n",
		"X-A:":                 "X-A: \r\n",
		"X-A":                  `header "X-A": write it as "Name: value"`,
		"X-A: b\nc":            `header "X-A: b\nc": the value holds a control byte`,
		"Host: b":              `header "Host: b": "Host" is no name of a field that rules may add`,
		"X A: b":               `header "X A: b": "X A" is no name of a field that rules may add`,
		"X-Forwarded-Proto: b": "X-Forwarded-Proto: b\r\n",
	} {
		lines, err := rewrite.Lines([]farm.HeaderAdd{{Header: "First: 1"}, {Header: header}})
		got := strings.TrimPrefix(string(lines), "First: 1\r\n")
		if err != nil {
			got = err.Error() + string(lines)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func TestInvalidHeaderRulesAreRefused(t *testing.T) {
	good := farm.HeaderReplace{Header: "a", Match: "b", Replace: "c"}
	for _, c := range []struct {
		begin                  string
		header, match, replace string
	}{{"header: ", "(", "b", "c"}, {"match: ", "a", "(", "c"}, {"replace: ", "a", "b", "c\r"}} {
		rule := farm.HeaderReplace{Header: c.header, Match: c.match, Replace: c.replace}
		if r, err := rewrite.NewReplacer([]farm.HeaderReplace{good}, []farm.HeaderReplace{rule}); err == nil || r != nil || !strings.HasPrefix(err.Error(), c.begin) {
			t.Errorf("%+v: %v", rule, err)
		}
	}
	if r, err := rewrite.NewRemover([]farm.HeaderRemove{{Pattern: "a"}, {Pattern: "("}}); err == nil || r != nil {
		t.Errorf("a remover of (: %v", err)
	}
	if u, err := rewrite.NewURL([]farm.URLRewrite{{Pattern: "a"}, {Pattern: "("}}, false); err == nil || u != nil {
		t.Errorf("paths that match (: %v", err)
	}
	if u, err := rewrite.NewURL([]farm.URLRewrite{{Pattern: "a", Replace: "\n"}}, false); u != nil || err == nil || !strings.HasPrefix(err.Error(), "replace: ") {
		t.Errorf("a path with a line end: %v", err)
	}
}

// FuzzReplace checks that parsing a request head changed by rules yields the changed values.
func FuzzReplace(f *testing.F) {
	f.Add("^A", "b(.)", "$1\tx$2", "abc", "b: c")
	f.Add(".", ".*", "0", "chunked", "Content-Length: 1")
	f.Add("(?i)x", "\\z", "\u00e9", "\xff", "")
	f.Add("^A", "b", "c", "\t\r\n\r\n", "")
	f.Fuzz(func(t *testing.T, header, match, text, value, pattern string) {
		replace, err := rewrite.NewReplacer([]farm.HeaderReplace{{Header: header, Match: match, Replace: text}})
		if err != nil {
			return
		}
		remove, err := rewrite.NewRemover([]farm.HeaderRemove{{Pattern: pattern}})
		if err != nil {
			return
		}
		head := []byte("POST /a HTTP/1.1\r\nHost: h\r\nA: " + value + "\r\nX: " + value + "\r\nContent-Length: 5\r\nTE: x\r\nX-Forwarded-For: 1\r\n\r\n")
		r := new(http1.Request)
		if n, err := r.Parse(head); n != len(head) || err != nil {
			return // otherwise the value ends the head and the rest of the test is meaningless
		}
		var s rewrite.Scratch
		remove.Remove(&r.Head, &s)
		if replace.Replace(&r.Head, &s) != nil {
			return
		}
		sent := http1.AppendRequest(nil, r, &http1.Forward{Proto: []byte("http")})
		again := new(http1.Request)
		if n, err := again.Parse(sent); n != len(sent) || err != nil {
			t.Fatalf("%d, %v of %q", n, err, sent)
		}
		if again.ContentLength != 5 || string(again.Host) != "h" || again.NumFields > r.NumFields+4 {
			t.Fatalf("%q became %q", head, sent)
		}
	})
}

func BenchmarkRemove(b *testing.B) {
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("^X-Internal-%d:", i)
	}
	for _, c := range []struct {
		name     string
		patterns []string
	}{
		{"anchored", []string{"^X-Powered-By:"}},
		{"same-start", []string{"^Accept-Charset:"}},
		{"floating", []string{"X-Powered-By"}},
		{"letters", []string{"forwarded"}},
		{"expression", []string{`^cookie:.*\bsid=[0-9]+`}},
		{"hundred", many},
	} {
		r, head := remover(b, c.patterns...), parsed(b, browser)
		var s rewrite.Scratch
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Remove(&head.Head, &s)
			}
		})
	}
}

func BenchmarkReplace(b *testing.B) {
	for _, c := range []struct {
		name string
		rule farm.HeaderReplace
	}{
		{"other-field", farm.HeaderReplace{Header: "^X-Real-Name$", Match: "a", Replace: "b"}},
		{"name-floats", farm.HeaderReplace{Header: "X-Real-Name", Match: "a", Replace: "b"}},
		{"literal", farm.HeaderReplace{Header: "^Referer$", Match: "www.example", Replace: "in.example"}},
		{"groups", farm.HeaderReplace{Header: "^Cookie$", Match: "session=([0-9a-f]+)", Replace: "sid=$1"}},
	} {
		r, err := rewrite.NewReplacer([]farm.HeaderReplace{c.rule})
		if err != nil {
			b.Fatal(err)
		}
		head := parsed(b, browser)
		var s rewrite.Scratch
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Reset()
				_ = r.Replace(&head.Head, &s)
			}
		})
	}
}
