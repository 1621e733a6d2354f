package rewrite_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

func TestPathsAreRewrittenInOrderOnceEach(t *testing.T) {
	u, err := rewrite.NewURL([]farm.URLRewrite{
		{Pattern: "^/old/(.*)", Replace: "/new/$1"},
		{Pattern: "a", Replace: "A"},
		{Pattern: `^/stop(.*)\?x=([0-9]+)`, Replace: "/here$1-$2", Last: true},
		{Pattern: "$", Replace: "&end"},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/old/b?q":    "/new/b?q&end",
		"/old/banana": "/new/bAnana&end",
		"/stop/s?x=1": "/here/s-1",
		"/stop/a?x=1": "/here/A-1",
		"/b":          "/b&end",
	} {
		var s rewrite.Scratch
		got, changed, err := u.Rewrite([]byte(path), &s, nil)
		if string(got) != want || !changed || err != nil {
			t.Errorf("%s: got %s, %v, %v; want %s", path, got, changed, err, want)
		}
		if path != "/old/banana" {
			continue
		}
		var told []string
		_, _, _ = u.Rewrite([]byte(path), &s, func(rule int, path []byte) { told = append(told, fmt.Sprintf("%d: %s %v", rule, path, u.Last(rule))) })
		if got := strings.Join(told, ", "); got != "0: /new/banana false, 1: /new/bAnana false, 3: /new/bAnana&end false" || !u.Last(2) {
			t.Errorf("the observer got %s", got)
		}
	}
	fold, err := rewrite.NewURL([]farm.URLRewrite{{Pattern: "^/OLD", Replace: "/new"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	var s rewrite.Scratch
	if got, changed, _ := fold.Rewrite([]byte("/old/x"), &s, nil); string(got) != "/new/x" || !changed {
		t.Errorf("got %s", got)
	}
	if got, changed, _ := fold.Rewrite([]byte("/x"), &s, nil); string(got) != "/x" || changed {
		t.Errorf("got %s, %v", got, changed)
	}
}

func TestPathsThatGrowWithoutBoundAreRefused(t *testing.T) {
	for length, want := range map[int]error{http1.MaxTarget / 2: nil, http1.MaxTarget/2 + 1: http1.ErrTargetTooLong} {
		u, err := rewrite.NewURL([]farm.URLRewrite{{Pattern: "(.*)", Replace: "$1$1"}}, false)
		if err != nil {
			t.Fatal(err)
		}
		var s rewrite.Scratch
		if _, changed, err := u.Rewrite(bytes.Repeat([]byte("/"), length), &s, nil); err != want || !changed {
			t.Errorf("%d bytes twice: %v, want %v", length, err, want)
		}
	}
	rules := make([]farm.URLRewrite, 64)
	for i := range rules {
		rules[i] = farm.URLRewrite{Pattern: "(.*)", Replace: "$1$1"}
	}
	u, err := rewrite.NewURL(rules, false)
	if err != nil {
		t.Fatal(err)
	}
	var s rewrite.Scratch
	if _, _, err := u.Rewrite([]byte("/abc"), &s, nil); err != http1.ErrTargetTooLong {
		t.Errorf("got %v", err)
	}
}

func TestUndoReversesRewrites(t *testing.T) {
	for _, c := range []struct{ client, backend, location, want string }{
		{"/shop/tea", "/tea", "/login", "/shop/login"},
		{"/shop/tea", "/tea", "/", "/shop/"},
		{"/shop", "/", "/login?x", "/shop/login?x"},
		{"/shop/", "/", "/", "/shop/"},
		{"/old/a", "/new/a", "/new/b", "/old/b"},
		{"/old/a", "/new/a", "/newer", "/newer"},
		{"/old/a", "/new/a", "/new", "/old"},
		{"/old/a", "/new/a", "/other", "/other"},
		{"/a/old/b?x", "/a/new/b?y=/b", "/a/new/c#d", "/a/old/c#d"},
		{"/x.php", "/x.html", "/x.html", "/x.php"},
		{"/x.php", "/x.html", "/y.html", "/y.html"},
		{"/", "/root/", "/root/x", "/x"},
		{"/", "/root/", "/root", "/"},
		{"/", "/root/index", "/root/index?a", "/?a"},
		{"/a?x", "/a?y", "/a", "/a"},
		{"/app", "/x/app", "/x", "/"},
		{"/a/x", "/b/y", "/b/q", "/b/q"},
		{"/a/x", "/b/x", "/b?q", "/a?q"},
		{"/a", "/b", "", ""},
	} {
		var u rewrite.Undo
		u.Learn([]byte(c.client), []byte(c.backend))
		got, done := u.Append([]byte("at:"), []byte(c.location))
		if string(got) != "at:"+c.want || done != (c.want != c.location) {
			t.Errorf("%s became %s; %s is undone to %s (%v), want %s", c.client, c.backend, c.location, got, done, c.want)
		}
		u.Reset()
		if got, done := u.Append(nil, []byte(c.location)); u.Is() || done || string(got) != c.location {
			t.Errorf("after Reset: %s", got)
		}
	}
}

// FuzzURL checks that a path becomes a canonical path or is refused.
func FuzzURL(f *testing.F) {
	f.Add("^/old/(.*)", "/new/$1", "/old/a?b=c")
	f.Add("/", "/../..", "/a/b")
	f.Add("a", "%2e%2e", "/a/%61?x")
	f.Add("(.*)", "$1\r\nHost: evil", "/a")
	f.Fuzz(func(t *testing.T, pattern, text, path string) {
		u, err := rewrite.NewURL([]farm.URLRewrite{{Pattern: pattern, Replace: text}}, false)
		if err != nil {
			return
		}
		r := new(http1.Request)
		head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		if n, err := r.Parse([]byte(head)); n != len(head) || err != nil || r.Path[0] != '/' {
			return
		}
		var s rewrite.Scratch
		before := string(r.Path)
		out, changed, err := u.Rewrite(r.Path, &s, nil)
		if err != nil || !changed {
			return
		}
		if r.Retarget(out) != nil {
			return
		}
		sent := http1.AppendRequest(nil, r, &http1.Forward{Proto: []byte("http")})
		again := new(http1.Request)
		if n, err := again.Parse(sent); n != len(sent) || err != nil || string(again.Path) != string(r.Path) {
			t.Fatalf("%q became %q, sent as %q: %v", before, r.Path, sent, err)
		}
		var undo rewrite.Undo
		undo.Learn([]byte(before), r.Path)
		back, _ := undo.Append(nil, withoutQuery(r.Path))
		if strings.TrimSuffix(string(back), "/") != strings.TrimSuffix(string(withoutQuery([]byte(before))), "/") {
			t.Fatalf("%q became %q, undone to %q", before, r.Path, back)
		}
	})
}

func withoutQuery(path []byte) []byte {
	path, _, _ = bytes.Cut(path, []byte("?"))
	return path
}
