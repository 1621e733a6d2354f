package rewrite_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/rewrite"
)

func TestTemplatesExpandGroupsAndHost(t *testing.T) {
	b, g := []byte("-a-bb--"), rewrite.Groups{0, 7, 1, 2, 3, 5, 6, 6}
	for i := 8; i < len(g); i++ {
		g[i] = -1
	}
	for text, want := range map[string]struct {
		plain, host string
		grouped     bool
	}{
		"":                  {"", "", false},
		"x":                 {"x", "x", false},
		"$":                 {"$", "$", false},
		"$0$x$":             {"$0$x$", "$0$x$", false},
		"$$":                {"$$", "$$", false},
		"x$1":               {"xa", "xa", true},
		"$2$3$4$9.":         {"bb.", "bb.", true},
		"$12":               {"a2", "a2", true},
		"${VHOST}":          {"${VHOST}", "h:80", false},
		"//${VHOST}/$1${V}": {"//${VHOST}/a${V}", "//h:80/a${V}", true},
	} {
		for host, want := range map[bool]string{false: want.plain, true: want.host} {
			c, err := rewrite.CompileTemplate(text, host)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(c.Append([]byte("at "), b, &g, []byte("h:80"))); got != "at "+want {
				t.Errorf("%s, host %v: got %q, want %q", text, host, got, want)
			}
		}
		c, _ := rewrite.CompileTemplate(text, true)
		if c.Grouped() != want.grouped {
			t.Errorf("%s: asks for a group: %v", text, c.Grouped())
		}
	}
	if _, err := rewrite.CompileTemplate("a\x00", false); err == nil || err.Error() != "\"a\\x00\" holds a control byte" {
		t.Errorf("a control byte: %v", err)
	}
}
