package cases_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
)

func TestNamesAreUniqueAndSelectable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases.All() {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		got, err := cases.Select("^" + c.Name + "$")
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d cases, %v", c.Name, len(got), err)
		}
	}
	if _, err := cases.Select("("); err == nil {
		t.Error("a broken pattern was accepted")
	}
}

// TestOnlyTheLastServiceMatches makes sure that the work of the rules is what
// the title of the cases says.
func TestOnlyTheLastServiceMatches(t *testing.T) {
	for _, c := range cases.All() {
		table := c.Rules.Table()
		for i, rule := range table {
			host := regexp.MustCompile("^(?i:" + c.Rules.VHost(rule) + ")")
			path := regexp.MustCompile(c.Rules.URL(rule))
			last := i == len(table)-1
			if got := host.MatchString(c.Host); got != last {
				t.Errorf("%s: host rule %d matches %q: %v", c.Name, i, c.Host, got)
			}
			if last && !path.MatchString(c.Path) {
				t.Errorf("%s: the last URL rule does not match %q", c.Name, c.Path)
			}
		}
	}
}

func TestHostRulesDoNotBringTheirOwnAnchor(t *testing.T) {
	for _, set := range []cases.Rules{cases.One, cases.Prefix, cases.Regex} {
		for _, rule := range set.Table() {
			if strings.HasPrefix(set.VHost(rule), "^") {
				t.Errorf("%s: %s", set, set.VHost(rule))
			}
		}
	}
}
