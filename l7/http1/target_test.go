package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestRetargetReadsAPathAsAClientsOwn(t *testing.T) {
	most := "/" + strings.Repeat("a", http1.MaxTarget-1)
	for target, want := range map[string]struct {
		path string
		err  error
	}{
		"/b?c":            {"/b?c", nil},
		"//b/%2e/\u00e9?": {"/b/%C3%A9?", nil},
		most:              {most, nil},
		most + "a":        {"", http1.ErrTargetTooLong},
		"":                {"", http1.ErrTarget},
		"*":               {"", http1.ErrTarget},
		"http://b/":       {"", http1.ErrTarget},
		"b":               {"", http1.ErrTarget},
		"/b c":            {"", http1.ErrTargetByte},
		"/b\r\n":          {"", http1.ErrTargetByte},
		"/b#c":            {"", http1.ErrTargetByte},
		"/..":             {"", http1.ErrTargetDots},
		"/%2f":            {"/%2F", nil},
		"/%0a":            {"", http1.ErrTargetControl},
	} {
		r := mustParse(t, lf("GET /a HTTP/1.1\nHost: h\n\n"))
		err := r.Retarget([]byte(target))
		if err != want.err {
			t.Errorf("%.40q: %v, want %v", target, err, want.err)
		}
		if err != nil {
			continue
		}
		sent := string(http1.AppendRequest(nil, r, forward))
		if string(r.Path) != want.path || !strings.HasPrefix(sent, "GET "+want.path+" HTTP/1.1\r\nHost: h\r\n") {
			t.Errorf("%.40q: path %.40q, sent %.40q", target, r.Path, sent)
		}
	}
}

// TestCanonicalTargetsMayFillTheirLimit checks that escaping may grow a target up to the
// limit but not beyond it.
func TestCanonicalTargetsMayFillTheirLimit(t *testing.T) {
	const grown = "/\u00e9" // becomes /%C3%A9
	for end, room := range map[string]int{"%ff": 3, "\u00e9": 6, "?q": 2, "?" + strings.Repeat("q", 9000): 9001} {
		target := grown + strings.Repeat("a", http1.MaxTarget-len("/%C3%A9")-room) + end
		if r := mustParse(t, "GET "+target+" HTTP/1.1\r\nHost: a\r\n\r\n"); len(r.Path) != http1.MaxTarget {
			t.Errorf("with %.10q: path of %d bytes, want %d", end, len(r.Path), http1.MaxTarget)
		}
		wantRefusal(t, "GET "+strings.Replace(target, "a", "aa", 1)+" HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetTooLong)
	}
}
