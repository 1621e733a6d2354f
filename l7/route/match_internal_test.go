package route

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestPlainIsPrintableASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := bytes.Repeat([]byte{'a'}, rapid.IntRange(1, 20).Draw(t, "length"))
		for range rapid.IntRange(0, 2).Draw(t, "odd bytes") {
			s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		printable, lower := true, true
		for _, b := range s {
			printable = printable && b >= ' ' && b < 0x7f
			lower = lower && (b < 'A' || b > 'Z')
		}
		if plainTarget(s) != printable || plainHost(s) != (printable && lower) {
			t.Fatalf("%q: target %v host %v", s, plainTarget(s), plainHost(s))
		}
	})
}

func TestPortIsCutOff(t *testing.T) {
	for _, c := range [][2]string{
		{"a", "a"}, {"a:9080", "a"}, {"a:", "a"}, {":80", ""}, {"", ""}, {"80", "80"},
		{"[::1]", "[::1]"}, {"[::1]:443", "[::1]"}, {"a:8x", "a:8x"},
	} {
		if got := c[0][:bareLen([]byte(c[0]))]; got != c[1] {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
}
