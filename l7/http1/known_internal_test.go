package http1

import (
	"bytes"
	"testing"
)

// TestNamesAreRecognisedExactly changes every byte of every name to every other value. Only
// the case of letters may differ. Bytes after a name, and the end of the buffer, have no
// influence.
func TestNamesAreRecognisedExactly(t *testing.T) {
	known := map[string]Known{}
	for _, n := range names {
		known[n.name] = n.known
	}
	for _, n := range names {
		for i := range len(n.name) {
			for c := range 256 {
				name := []byte(n.name)
				name[i] = byte(c)
				want, wantOK := known[string(bytes.Map(asciiLower, name))], isToken(name)
				for _, rest := range []string{"", ": value and the fields that come after it"} {
					k, ok := recognise(append(name[:len(name):len(name)], rest...), len(name))
					if k == KnownTwin || k == KnownXForwarded || k == KnownXSSL {
						k = KnownNone
					}
					if ok != wantOK || ok && k != want {
						t.Fatalf("%q before %q: %d, %v, want %d, %v", name, rest, k, ok, want, wantOK)
					}
				}
			}
		}
	}
}

func asciiLower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r | 0x20
	}
	return r
}
