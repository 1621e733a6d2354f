package cli

import (
	"strings"
	"testing"
)

func TestTheUsersOfACheckFitIntoItsLine(t *testing.T) {
	for users, want := range map[string]string{"": "", "a": "a", "a b c": "a b c", "a b c d": "a b c and 1 more", "a b c d e": "a b c and 2 more"} {
		if got := someOf(strings.Fields(users)); got != want {
			t.Errorf("%q: %q, want %q", users, got, want)
		}
	}
}
