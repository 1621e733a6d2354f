package accesslog

import (
	"bytes"
	"testing"
)

// The test puts every byte in every place of a word, after bytes that need no escape.
func TestPlainStopsAtTheFirstByteToEscape(t *testing.T) {
	for c := range 256 {
		odd := c < 0x20 || c > 0x7e || c == '"' || c == '\\'
		for at := range 20 {
			b := bytes.Repeat([]byte("a~ "), 7)
			b[at] = byte(c)
			want := len(b)
			if odd {
				want = at
			}
			if got := plain(b); got != want {
				t.Fatalf("byte %#x at %d: stopped at %d, want %d", c, at, got, want)
			}
		}
	}
}
