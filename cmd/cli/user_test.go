package cli_test

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAPasswordIsALineAndNeverShown(t *testing.T) {
	a := start(t)
	for _, c := range []struct {
		stdin, command, says string
		code                 int
	}{
		{"secret-1\nmore\n", "user create ann", "The user ann has been created", 0},
		{"secret-1", "user create bob", "The user bob has been created", 0}, {"", "group create first", "has been created", 0},
		{"secret-1", "user create eve --group first", "The user eve has been created in the group first", 0}, {"secret-1", "user create joe --group none", "the group \"none\" does not exist", 1},
		{"", "user create tim", "missing password", 2},
		{"\n", "user password ann", "missing password", 2},
		{"short-1\n", "user password ann", "8 to 512 characters", 1},
		{"\ufeffsecret-2\r\n", "user password ann", "The user ann has been modified", 0},
		{"", "role set readonly farm.create=true", "comes with Sluice", 1},
		{"", "role set readonly farm=true", "write SECTION.PERMISSION=true", 2},
		{"", "role set readonly farm.create", "write SECTION.PERMISSION=true", 2},
		{"", "group role none", "does not exist", 1},
		{"", "group add none ann", "does not exist", 1},
		{"", "group set none all_farms=true", "does not exist", 1},
		{"", "user show a/b", "is not a valid name", 1},
	} {
		got := a.feed(c.stdin, strings.Fields(c.command)...)
		if text := got.stdout + got.stderr; got.code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "secret-") {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
	for password, right := range map[string]bool{"secret-2": true, "secret-1": false} {
		_, err := a.users.Verify(t.Context(), netip.Prefix{}, "ann", password)
		if got := err == nil || strings.Contains(err.Error(), "lacks"); got != right {
			t.Errorf("%s is ann's password: %t, %v", password, got, err)
		}
	}
}
