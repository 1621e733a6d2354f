package http1

import (
	"bytes"
	"testing"
)

// Eight bytes are examined together, the rest one by one.
func TestQueryEndsAtEveryInvalidByte(t *testing.T) {
	for c := range 256 {
		for pad := range 17 {
			b := append(bytes.Repeat([]byte("p"), pad), byte(c))
			want := len(b)
			if c <= ' ' || c == 0x7f || c == '#' {
				want = pad
			}
			if got := queryEnd(b, 0); got != want {
				t.Fatalf("byte %#x after %d others: the end is at %d, want %d", c, pad, got, want)
			}
		}
	}
}
