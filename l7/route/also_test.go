package route_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/route"
)

// odds holds for rules with an odd index only.
type odds struct{}

func (odds) Holds(rule int) bool { return rule%2 == 1 }

func TestAlsoAgreesWithTheRulesPatterns(t *testing.T) {
	t.Parallel()
	rules := []route.Rule{
		{}, {Host: `a\.test`}, {Host: `a\.test`, URL: "^/x"}, {URL: "^/x"}, {URL: "^/X", IgnoreCase: true}, {Host: `b\.test`}, {More: true}, {More: true}, {URL: `\.png$`},
	}
	table, err := route.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.test", "a.test:80", "b.test", "", "x\xff"} {
		for _, target := range []string{"/", "/x", "/X/y.png", "/\xff"} {
			first := table.Match([]byte(host), []byte(target), odds{})
			for i := range rules {
				alone, err := route.Compile(rules[i : i+1])
				if err != nil {
					t.Fatal(err)
				}
				want := alone.Match([]byte(host), []byte(target), always{}) == 0 && (!rules[i].More || i%2 == 1)
				if got := table.Also(i, first, []byte(host), []byte(target), odds{}); got != want {
					t.Errorf("%q %q: rule %d matches, too: %v, want %v", host, target, i, got, want)
				}
			}
		}
	}
}

type always struct{}

func (always) Holds(int) bool { return true }
