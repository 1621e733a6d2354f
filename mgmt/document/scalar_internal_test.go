package document

import (
	"regexp"
	"testing"
)

// isPlain equals a regular expression for all short texts of relevant characters.
func TestPlainTextsMatchThePattern(t *testing.T) {
	plain := regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./%+~-]*(:[A-Za-z0-9_./%+~-]+)*$`)
	const letters = "aZ@[`{0/:9_.~ -\n\xc3"
	var try func(text string)
	try = func(text string) {
		if got, want := isPlain(text), plain.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
		if len(text) == 4 {
			return
		}
		for i := range len(letters) {
			try(text + letters[i:i+1])
		}
	}
	try("")
	for c := range 256 {
		for _, text := range []string{string([]byte{byte(c)}), string([]byte{'a', byte(c)}), string([]byte{'a', byte(c), 'b'})} {
			if isPlain(text) != plain.MatchString(text) {
				t.Errorf("%q: %t", text, isPlain(text))
			}
		}
	}
}
