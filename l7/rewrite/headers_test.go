package rewrite_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// browser is what a browser sends.
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

func TestNoRulesAreNothing(t *testing.T) {
	remove, err1 := rewrite.NewRemover(nil)
	replace, err2 := rewrite.NewReplacer(nil, nil)
	lines, err3 := rewrite.Lines(nil)
	if remove != nil || replace != nil || lines != nil || err1 != nil || err2 != nil || err3 != nil {
		t.Error("no rules are something")
	}
}

func TestEachRuleReplacesOnceAndSeesTheOneBefore(t *testing.T) {
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

// FuzzReplace checks that no rule makes a head of a request that we would not
// read as we wrote it.
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
			return // or the value ends the head, and with it what is asked of the rest
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
