package cases_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
)

func TestNamesAreUniqueAndSelectable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases.All() {
		if seen[c.Name] {
			t.Errorf("duplicate case %s", c.Name)
		}
		seen[c.Name] = true
		got, err := cases.Select("^" + c.Name + "$")
		if err != nil || len(got) != 1 {
			t.Errorf("%s: got %d cases, %v, want 1", c.Name, len(got), err)
		}
	}
	if _, err := cases.Select("("); err == nil {
		t.Error("a broken pattern was accepted")
	}
}

// TestOnlyTheLastServiceMatches checks that contestants evaluate as many rules as the
// title of the case says.
func TestOnlyTheLastServiceMatches(t *testing.T) {
	for _, c := range cases.All() {
		table := c.Rules.Table()
		for i, rule := range table {
			host := regexp.MustCompile("^(?i:" + c.Rules.VHost(rule) + ")")
			path := regexp.MustCompile(c.Rules.URL(rule))
			last := i == len(table)-1
			if got := host.MatchString(c.Host); got != last {
				t.Errorf("%s: host rule %d matches %q: got %v, want %v", c.Name, i, c.Host, got, last)
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

// TestLikeCasesDifferInTheirDefaultsAlone checks that their ratios are comparable.
func TestLikeCasesDifferInTheirDefaultsAlone(t *testing.T) {
	all := cases.All()
	for i, c := range all {
		if c.Like == "" {
			continue
		}
		found := false
		for _, one := range all[:i] {
			if one.Name != c.Like {
				continue
			}
			found = true
			if one.Default || !c.Default {
				t.Errorf("%s: default %v, %s: %v", c.Name, c.Default, one.Name, one.Default)
			}
			one.Name, one.Title, one.Targets, one.Default, one.Like = c.Name, c.Title, c.Targets, c.Default, c.Like
			if !reflect.DeepEqual(one, c) {
				t.Errorf("%s is not like\n%+v\nbut\n%+v", c.Name, one, c)
			}
		}
		if !found {
			t.Errorf("%s: there is no %s before it", c.Name, c.Like)
		}
	}
}
