package validate_test

import (
	"strings"
	"testing"
)

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
