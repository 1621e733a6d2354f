package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli"
)

// asked runs a command at a terminal, answers its question with yes, and returns the status
// and the output. meanwhile happens before the answer.
func (a *appliance) asked(t *testing.T, command string, meanwhile func()) (code int, shown string) {
	t.Helper()
	t.Setenv("TERM", "dumb")
	shown = talk(t, []step{{"[y/N] ", "y\r"}}, func(tty *os.File) {
		code = cli.Execute(append([]string{"--data", a.data}, strings.Fields(command)...), tty, tty, tty)
	}, meanwhile)
	return code, strings.ReplaceAll(shown, "\r\n", "\n")
}

// A deletion by position shows what it deletes, and never deletes another object that is at
// that position by the time of the answer.
func TestADeletionByPositionIsOfTheObjectThatWasShown(t *testing.T) {
	for _, c := range []struct{ make, first, delete, list, shows string }{
		{"header create shop addrequestheader X-%s:1", "header delete shop addrequestheader 0", "header delete shop addrequestheader 0", "header list shop", "X-A"},
		{"header create shop addrequestheader X-%s:1 --service web", "header delete shop addrequestheader 0 --service web", "header delete shop addrequestheader 0 --service web", "header list shop --service web", "X-A"},
		{"rewrite create shop web ^/%s /x", "rewrite delete shop web 0", "rewrite delete shop web 0", "rewrite list shop web", "^/A"},
	} {
		a := start(t)
		a.shop()
		for _, name := range []string{"A", "B", "C"} {
			a.must(strings.Fields(strings.Replace(c.make, "%s", name, 1))...)
		}
		code, shown := a.asked(t, c.delete, func() { a.must(append(strings.Fields(c.first), "--yes")...) })
		if code == 0 || !strings.Contains(shown, c.shows) || !strings.Contains(shown, "changed") {
			t.Errorf("%s: status %d\n%s", c.delete, code, shown)
		}
		if rules := a.must(strings.Fields(c.list)...); !strings.Contains(rules, strings.Replace(c.shows, "A", "B", 1)) {
			t.Errorf("%s deleted another rule:\n%s", c.delete, rules)
		}
		if code, shown := a.asked(t, c.delete, func() {}); code != 0 || !strings.Contains(shown, strings.Replace(c.shows, "A", "B", 1)) {
			t.Errorf("%s undisturbed: status %d\n%s", c.delete, code, shown)
		}
	}
}
