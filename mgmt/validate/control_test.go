package validate_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// A text that was stored by an earlier version blocks no change.
func TestStoredControlCharactersAreKept(t *testing.T) {
	f := farm.Farm{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.10"), VPort: 80, HTTP: farm.DefaultHTTP(), Notes: &farm.Notes{Comment: "pasted\vtext\u0085"}}
	if err := validate.Config(&farm.Config{Farms: []farm.Farm{f}}); err != nil {
		t.Error(err)
	}
}

// No field accepts a character that ends a text, or changes the terminal it is shown on. Only
// error pages, which clients get byte by byte, may hold any.
func TestNoFieldAcceptsControlCharacters(t *testing.T) {
	for name, of := range bodies() {
		for _, f := range of.fields {
			if strings.HasPrefix(f.Name, "error") {
				continue
			}
			for _, text := range []string{"a\x00b", "a\x1b[31mb", "a\x7fb"} {
				for _, v := range []any{text, []any{text}} {
					if of.refuse(f.Name, v) == "" {
						t.Errorf("%s: %s accepts %q", name, f.Name, v)
					}
				}
			}
		}
	}
	for _, text := range []string{"two\nlines", "a\r\nb", "a\tb"} {
		if why := bodies()["http farm"].refuse("comment", text); why != "" {
			t.Errorf("comment %q: %s", text, why)
		}
	}
}
