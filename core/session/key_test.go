package session_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/session"
)

func TestLongIdentificationsHaveDistinctKeys(t *testing.T) {
	long := strings.Repeat("x", session.MaxKey)
	for text, want := range map[string]string{
		"":         "",
		"a":        "a",
		long:       long,
		long + "a": fmt.Sprintf("%s%x", long[:191], sha256.Sum256([]byte(long+"a"))),
		long + "b": fmt.Sprintf("%s%x", long[:191], sha256.Sum256([]byte(long+"b"))),
	} {
		got := session.AppendKey([]byte("-"), []byte(text))
		if string(got) != "-"+want || len(got) > 1+session.MaxKey {
			t.Errorf("%d bytes: %q", len(text), got)
		}
		if again := session.AppendKey(nil, got[1:]); string(again) != want {
			t.Errorf("the key of a key is %q", again)
		}
	}
}

func TestKeysCostNoAllocation(t *testing.T) {
	text, dst := []byte(strings.Repeat("x", 2000)), make([]byte, 0, session.MaxKey)
	if n := testing.AllocsPerRun(100, func() { dst = session.AppendKey(dst[:0], text) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// The key of a text is a text, wherever its characters lie.
func TestKeysSplitNoCharacter(t *testing.T) {
	for _, character := range []string{"é", "€", "😀"} {
		for before := range 4 {
			text := strings.Repeat("x", before) + strings.Repeat(character, 200)
			key := string(session.AppendKey(nil, []byte(text)))
			start := strings.TrimSuffix(key, fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
			n := len(start)
			if !utf8.ValidString(key) || !strings.HasPrefix(text, start) || start == key || n > 191 || n < 188 {
				t.Errorf("%d bytes, then %s: %q", before, character, key)
			}
		}
	}
	if got := session.AppendKey(nil, []byte(strings.Repeat("\x80", 300))); len(got) != session.MaxKey {
		t.Errorf("no UTF-8: %d bytes", len(got))
	}
}
