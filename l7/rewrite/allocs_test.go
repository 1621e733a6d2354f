//go:build !race

package rewrite_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

func TestRulesAllocateNothing(t *testing.T) {
	head, r := []byte(strings.Replace(browser, "Cookie: ", "Cookie:", 1)), new(http1.Request)
	remove := remover(t, "^Accept:", "firefox/1[0-9]{2}", `^cookie:.*\bsid=`)
	replace, err := rewrite.NewReplacer([]farm.HeaderReplace{{Header: "^Cookie$", Match: "session=([0-9a-f]+)", Replace: "sid=$1"}, {Header: "e", Match: "(x|y)*z", Replace: ""}})
	if err != nil {
		t.Fatal(err)
	}
	urls, err := rewrite.NewURL([]farm.URLRewrite{{Pattern: `^/static/(.*)\.js`, Replace: "/s//$1.mjs"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	text, err := rewrite.CompileTemplate("https://${VHOST}/$1/$2", true)
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := rewrite.CompilePattern(`^/(.*)\?(.*)$`, false)
	if err != nil {
		t.Fatal(err)
	}
	var s rewrite.Scratch
	var undo rewrite.Undo
	var out []byte
	if n := testing.AllocsPerRun(100, func() {
		s.Reset()
		if _, err := r.Parse(head); err != nil {
			t.Fatal(err)
		}
		remove.Remove(&r.Head, &s)
		if err := replace.Replace(&r.Head, &s); err != nil {
			t.Fatal(err)
		}
		path, changed, err := urls.Rewrite(r.Path, &s, nil)
		if err != nil || !changed {
			t.Fatal(changed, err)
		}
		undo.Learn(r.Path, path)
		if err := r.Retarget(path); err != nil {
			t.Fatal(err)
		}
		out, _ = undo.Append(out[:0], path)
		var g rewrite.Groups
		pattern.Find(path, &g, &s)
		out = text.Append(out, path, &g, r.Host)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
