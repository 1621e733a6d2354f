package cli_test

import (
	"encoding/json"
	"os"
	"strconv"
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

// A rule is changed or moved by its position only if it is the one that was shown, and only
// after a question.
func TestAChangeByPositionIsOfTheRuleThatWasShown(t *testing.T) {
	for _, c := range []struct{ make, change, list, was, now string }{
		{"header create shop addrequestheader X-%s:1", "header set shop addrequestheader 1 X-New:1", "header list shop", "X-B", "X-New"},
		{"header create shop removeresponseheader X-%s --service web", "header set shop removeresponseheader 1 X-New --service web", "header list shop --service web", "X-B", "X-New"},
		{"header create shop replacerequestheader X-%s a b", "header move shop replacerequestheader 1 0", "header list shop", "X-B", "0  X-B"},
		{"rewrite create shop web ^/%s /x", "rewrite set shop web 1 pattern=^/New", "rewrite list shop web", "^/B", "^/New"},
		{"rewrite create shop web ^/%s /x", "rewrite move shop web 1 0", "rewrite list shop web", "^/B", "0  ^/B"},
	} {
		a := start(t)
		a.shop()
		for _, name := range []string{"A", "B", "C"} {
			a.must(strings.Fields(strings.Replace(c.make, "%s", name, 1))...)
		}
		first := strings.NewReplacer(" set ", " delete ", " move ", " delete ", " 1 0", " 0", " 1 X-New:1", " 0", " 1 X-New", " 0", " 1 pattern=^/New", " 0").Replace(c.change)
		code, shown := a.asked(t, c.change, func() { a.must(append(strings.Fields(first), "--yes")...) })
		if code == 0 || !strings.Contains(shown, c.was) || !strings.Contains(shown, "changed") {
			t.Errorf("%s: status %d\n%s", c.change, code, shown)
		}
		if rules := a.must(strings.Fields(c.list)...); strings.Contains(rules, c.now) && c.now != "0  "+c.was || !strings.Contains(rules, "0  "+c.was) {
			t.Errorf("%s changed another rule:\n%s", c.change, rules)
		}
		a.must(append(strings.Fields(strings.Replace(c.make, "%s", "D", 1)), "--json")...)
		if code, shown := a.asked(t, c.change, func() {}); code != 0 || !strings.Contains(shown, strings.Replace(c.was, "B", "C", 1)) {
			t.Errorf("%s undisturbed: status %d\n%s", c.change, code, shown)
		}
	}
}

// A script names the revision in which it found the rule.
func TestAChangeByPositionIsOfTheRevisionThatWasRead(t *testing.T) {
	for _, c := range []struct{ make, list, other string }{
		{"header create shop replacerequestheader X-%s a b", "header list shop", "farm set shop contimeout=7"},
		{"header create shop replacerequestheader X-%s a b --service web", "header list shop --service web", "service create shop other"},
		{"rewrite create shop web ^/%s /x", "rewrite list shop web", "service set shop web vhost="},
	} {
		for _, change := range []string{"set 1 replace=c", "move 1 0", "delete 1"} {
			a := start(t)
			a.shop()
			for _, name := range []string{"A", "B"} {
				a.must(strings.Fields(strings.Replace(c.make, "%s", name, 1))...)
			}
			var read struct{ Revision uint64 }
			if err := json.Unmarshal([]byte(a.must(append(strings.Fields(c.list), "--json")...)), &read); err != nil || read.Revision == 0 {
				t.Fatalf("%s: revision %d, %v", c.list, read.Revision, err)
			}
			verb, rest, _ := strings.Cut(change, " ")
			words := strings.Fields(strings.NewReplacer(" create ", " "+verb+" ", "X-%s a b", rest, "^/%s /x", rest).Replace(c.make))
			words = append(words, "--if-revision", strconv.FormatUint(read.Revision, 10))
			a.must("farm", "create", "next", "vip=192.0.2.10", "vport=99") // another farm
			a.must(strings.Fields(c.other)...)
			if r := a.run(words...); r.code == 0 || !strings.Contains(r.stderr, "changed") {
				t.Errorf("%v after a change: status %d, %s", words, r.code, r.stderr)
			}
			if err := json.Unmarshal([]byte(a.must(append(strings.Fields(c.list), "--json")...)), &read); err != nil {
				t.Fatal(err)
			}
			words[len(words)-1] = strconv.FormatUint(read.Revision, 10)
			a.must("farm", "set", "next", "contimeout=7") // which does not matter
			a.must(words...)
			if r := a.run(append(words[:len(words)-1], "first")...); r.code != 2 || !strings.Contains(r.stderr, "no revision number") {
				t.Errorf("%v: status %d", words, r.code)
			}
		}
	}
}
