package rdata_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/rdata"
)

// Each name has one spelling, whether it is written relative, absolute or with escapes.
func TestOwnerNamesAreNormalized(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, c := range []struct{ text, zone, want string }{
		{"@", "example.com", "@"}, {"example.com.", "example.com", "@"}, {"EXAMPLE.com.", "example.com", "@"},
		{`ex\097mple.com.`, "example.com", "@"},
		{"www", "example.com", "www"}, {"Www", "example.com", "Www"}, {"www.example.com.", "example.com", "www"},
		{`\119ww`, "example.com", "www"}, {`w\ww`, "example.com", "www"},
		{"www.example.com", "example.com", "www.example.com"},
		{"*", "example.com", "*"}, {`\*`, "example.com", "*"}, {"*.example.com.", "example.com", "*"},
		{`\042.a`, "example.com", "*.a"}, {"a.b.example.com.", "example.com", "a.b"},
		{`a\.b`, "example.com", `a\.b`}, {`a\046b.example.com.`, "example.com", `a\.b`}, {`a\.`, "example.com", `a\.`},
		{`\@`, "example.com", `\@`}, {"a@b", "example.com", `a\@b`}, {`a\@b`, "example.com", `a\@b`},
		{"it's", "example.com", `it\'s`}, {`it\'s`, "example.com", `it\'s`},
		{"1/25", "2.0.192.in-addr.arpa", "1/25"}, {"com.", ".", "com"}, {"com", ".", "com"}, {".", ".", "@"}, {"@", ".", "@"},
		{long + "." + long + "." + long, "example.com", long + "." + long + "." + long},
	} {
		got, err := rdata.Owner(c.text, c.zone)
		if err != nil || got != c.want {
			t.Errorf("%s in %s: %q, %v, want %q", c.text, c.zone, got, err, c.want)
			continue
		}
		a, _ := rdata.Name(c.text, c.zone)
		if b, err := rdata.Name(got, c.zone); err != nil || string(a) != string(b) {
			t.Errorf("%s in %s: %q is another name, %v", c.text, c.zone, got, err)
		}
	}
	for text, want := range map[string]error{
		"www.example.org.": rdata.ErrOutside, "com.": rdata.ErrOutside, ".": rdata.ErrOutside,
		"wwwexample.com.": rdata.ErrOutside, `www\.example.com.`: rdata.ErrOutside,
		"": rdata.ErrName, "a..b": rdata.ErrName, long + "a": rdata.ErrName, "ä": rdata.ErrName,
		long + "." + long + "." + long + "." + long[:55]: rdata.ErrName,
	} {
		if got, err := rdata.Owner(text, "example.com"); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", text, got, err, want)
		}
	}
}
