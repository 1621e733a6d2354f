package balance_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
)

// Every setting has an algorithm, and every algorithm a name for explanations.
func TestSettingsHaveTheAlgorithmTheyName(t *testing.T) {
	for _, test := range []struct {
		of    farm.RoutingPolicy
		l4    []farm.L4Algorithm
		want  balance.Algorithm
		name  string
		loads bool
	}{
		{farm.PolicyRoundRobin, []farm.L4Algorithm{"", "unheard of"}, balance.RoundRobin, "round robin", false},
		{farm.PolicyLeastConnections, []farm.L4Algorithm{farm.L4LeastConn}, balance.LeastConnections, "least connections", true},
		{farm.PolicyResponseTime, nil, balance.ResponseTime, "response time", true},
		{farm.PolicyPending, nil, balance.PendingConnections, "pending connections", true},
		{farm.PolicyRandomOfTwo, nil, balance.RandomOfTwo, "random of two", true},
		{farm.PolicyConsistentHash, []farm.L4Algorithm{
			farm.L4HashSrc, farm.L4HashFlow, farm.L4HashSrcPt, farm.L4HashDst, farm.L4HashDstPt, farm.L4SymHash,
		}, balance.ConsistentHash, "consistent hash", false},
		{"", []farm.L4Algorithm{farm.L4Priority}, balance.First, "first by priority", false},
		{"", nil, balance.First + 1, "unknown algorithm", true},
	} {
		if test.of != "" && balance.Parse(test.of) != test.want {
			t.Errorf("%q is %v, want %v", test.of, balance.Parse(test.of), test.want)
		}
		for _, of := range test.l4 {
			if balance.ParseL4(of) != test.want {
				t.Errorf("%q is %v, want %v", of, balance.ParseL4(of), test.want)
			}
		}
		if test.want.String() != test.name || test.want.NeedsLoad() != test.loads {
			t.Errorf("%d is called %q, want %q; needs loads: %t", test.want, test.want, test.name, test.want.NeedsLoad())
		}
	}
}

func TestVerdictsHaveExplanations(t *testing.T) {
	for verdict, want := range map[balance.Verdict]string{
		balance.Eligible: "", balance.Used: "tried already", balance.Out: "in maintenance: cut", balance.Down: "down",
		balance.Later: "priority 3 is not served: enough of those before are usable", balance.Full: "at its limit of 7",
	} {
		if got := verdict.Why("cut", 3, 7); got != want {
			t.Errorf("%d: %q, want %q", verdict, got, want)
		}
	}
}

// Groups of services use their policy, groups of l4xnat farms their algorithm.
func TestGroupUsesThePolicyOfItsFarm(t *testing.T) {
	f := farm.Farm{HTTP: &farm.HTTP{Services: []farm.Service{{Policy: farm.PolicyLeastConnections}}}}
	own := farm.Farm{L4: &farm.L4{Algorithm: farm.L4Priority}}
	for want, g := range map[balance.Algorithm]farm.Group{balance.LeastConnections: f.Groups()[0], balance.First: own.Own()} {
		c := g.Choosing()
		if got := balance.ParseOf(c); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := balance.NewOf(c, nil, newFixture(t).health, new(balance.State)).Algorithm(); got != want {
			t.Errorf("a picker for %s, want %s", got, want)
		}
	}
}
