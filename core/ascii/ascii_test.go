package ascii_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/ascii"
)

func TestOnlyASCIILettersHaveACase(t *testing.T) {
	for c := range 256 {
		want := byte(c)
		if 'A' <= c && c <= 'Z' {
			want += 'a' - 'A'
		}
		if got := ascii.Lower(byte(c)); got != want {
			t.Errorf("Lower(%#x): got %#x, want %#x", c, got, want)
		}
		if got := ascii.AppendLower([]byte("X"), []byte{byte(c)}); string(got) != "X"+string([]byte{want}) {
			t.Errorf("AppendLower(%#x): got %q", c, got)
		}
	}
}

func TestComparisonsIgnoreTheCase(t *testing.T) {
	for _, c := range []struct {
		a, b      string
		equal, is bool
	}{
		{"", "", true, true}, {"Host", "host", true, true}, {"host", "Host", true, false}, {"HOST", "hOST", true, false},
		{"hos", "host", false, false}, {"host", "hos", false, false}, {"^", "~", false, false}, {"@", "`", false, false},
		{"[", "{", false, false}, {"a-Z", "A-z", true, false}, {"\xc4", "\xe4", false, false}, {"x1", "x2", false, false},
	} {
		if got := ascii.EqualFold([]byte(c.a), c.b); got != c.equal {
			t.Errorf("EqualFold(%q, %q): got %t, want %t", c.a, c.b, got, c.equal)
		}
		if got := ascii.EqualFold([]byte(c.a), []byte(c.b)); got != c.equal {
			t.Errorf("EqualFold(%q, %q) of bytes: got %t, want %t", c.a, c.b, got, c.equal)
		}
		if got := ascii.Is([]byte(c.a), c.b); got != c.is {
			t.Errorf("Is(%q, %q): got %t, want %t", c.a, c.b, got, c.is)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	a, b, word := []byte("Content-Type"), []byte("content-type"), "content-type"
	dst := make([]byte, 0, 16)
	if n := testing.AllocsPerRun(100, func() {
		_ = ascii.EqualFold(a, b) && ascii.EqualFold(a, word) && ascii.Is(a, word)
		dst = ascii.AppendLower(dst[:0], a)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
