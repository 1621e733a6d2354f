package route_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/l7/route"
)

func TestSetFindsTheFirstPatternInOrder(t *testing.T) {
	s, err := route.CompileSet([]string{`^x-powered-by:`, `^Server: Apache/[0-9]+`, `secret`, `^cookie:.*\bsid=`, `\.php$`}, true)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"X-Powered-By: PHP": 0, "x-powered-by:": 0, "X-Powered-Bye: PHP": -1, "A: X-Powered-By:": -1,
		"SERVER: apache/2": 1, "Server: apache/x": -1, "X-Secret: 1": 2, "A: my SECRET": 2, "A: my sec\u0280et": -1,
		"Cookie: a=b; SID=1": 3, "Cookie: a=b; xsid=1": -1, "Referer: /a.PHP": 4, "Referer: /a.php?": -1,
		"A: \u00e9.php": 4, "": -1, "A: \u017fecret": 2, // long s is a case variant of s
	} {
		if got := s.Match([]byte(line)); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
	if got := s.Pattern(2); got != "secret" {
		t.Errorf("pattern 2 is %q, want %q", got, "secret")
	}
	anchored, err := route.CompileSet([]string{`^server:`, `^(via|x-.*):`}, true)
	if err != nil {
		t.Fatal(err)
	}
	for b, want := range map[byte]bool{'S': true, 's': true, 'v': true, 'X': true, 'a': false, 't': false} {
		if anchored.Starts(b) != want {
			t.Errorf("starts with %q: want %v", b, want)
		}
	}
	if _, err := route.CompileSet([]string{"a", "("}, false); err == nil {
		t.Error("a broken pattern is accepted")
	}
}

func TestSetEqualsTheRegularExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(genPattern(), 1, 5).Draw(t, "patterns")
		fold := rapid.Bool().Draw(t, "ignore case")
		s, err := route.CompileSet(patterns, fold)
		if err != nil {
			t.Skip(err)
		}
		for range 8 {
			in := genInput().Draw(t, "text")
			want := -1
			for i, p := range patterns {
				if fold {
					p = "(?i)" + p
				}
				if regexp.MustCompile(p).Match(in) {
					want = i
					break
				}
			}
			if got := s.Match(in); got != want {
				t.Fatalf("patterns %+q text %q: %d, want %d", patterns, in, got, want)
			}
			if len(in) > 0 && in[0] < 0x7f && in[0] >= ' ' && want >= 0 && !s.Starts(in[0]) {
				t.Fatalf("patterns %+q text %q is matched, yet cannot start so", patterns, in)
			}
		}
	})
}

// If only the beginning of a text is plain, parts of the pattern outside its shape still
// count.
func TestPartlyPlainTextsAreMatched(t *testing.T) {
	for pattern, text := range map[string]string{
		"é$": "aé", "^b|é": "aé", `^a\t|^b`: "a\tx", `(?m)^b`: "a\nb", `\x{e9}`: "aé", `\p{Greek}|^b`: "aα", "(?i)ſ|^b": "aſ",
	} {
		s, err := route.CompileSet([]string{pattern}, false)
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		if s.Match([]byte(text)) != 0 || !s.Starts(text[0]) {
			t.Errorf("%q in %q: match %d, may start so: %v", pattern, text, s.Match([]byte(text)), s.Starts(text[0]))
		}
	}
}
