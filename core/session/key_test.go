package session_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

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
