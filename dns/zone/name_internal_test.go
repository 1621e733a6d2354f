package zone

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// nameTexts returns names as users write them, valid and invalid.
func nameTexts() []string {
	long := strings.Repeat("a", 63)
	return []string{
		"www", "a.b", "_sip._tcp", "x-1", "0", "@", "*", "*.a", "WWW", "", ".", "a.", "a..b", ".a", "www.example.com.", `a\.b`, `a\032b`, "a b", "a;b", "\xc3\xa4", "a\x00",
		long, long + "a", long + "." + long, long + "." + long + "." + long, long + "." + long + "." + long + "." + long[:40],
		strings.Repeat("a.", 100) + "b", strings.Repeat("a.", 120) + "b", "a/b", "a@b", `a"b`, "a$", "a(b)",
	}
}

// FuzzNameOf checks that the fast path of nameOf agrees with rdata.Name.
func FuzzNameOf(f *testing.F) {
	for _, text := range nameTexts() {
		f.Add(text, "example.com")
		f.Add(text, ".")
	}
	f.Fuzz(func(t *testing.T, text, of string) {
		z := farm.Zone{Name: of}
		c, err := newCompiler(&farm.GSLB{Zones: []farm.Zone{z}})
		if err != nil {
			return
		}
		want, wrong := rdata.Name(text, of)
		got, err := c.nameOf(&memory{}, 0, &z, text)
		if (wrong == nil) != (err == nil) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%q in %q is %q (%v), want %q (%v)", text, of, got, err, want, wrong)
		}
	})
}
