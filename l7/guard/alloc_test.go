//go:build !race

package guard_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/guard"
)

func TestGrantedAccessAllocatesNothing(t *testing.T) {
	c := guard.NewChecker()
	defer c.Close()
	g, u, k := guard.NewCache(c), users(tea, other), guard.NewKeys([]farm.AuthKey{keyOf("one"), keyOf("two")})
	right, wrong, key := []byte(basic("user1:a password that is quite long")), []byte(basic("nobody:x")), []byte("two")
	_, d := g.Look(u, right, 1)
	g.Learn(d, true, 1)
	if n := testing.AllocsPerRun(1000, func() {
		if v, _ := g.Look(u, right, 2); v != guard.Right || !k.Holds(key) {
			t.Error("access denied")
		}
		g.Look(u, wrong, 2)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// bcrypt's allocations show that it ran: the response time does not reveal which users
// exist.
func TestPasswordCheckRunsForUnknownUsers(t *testing.T) {
	c := guard.NewChecker()
	defer c.Close()
	g, u := guard.NewCache(c), users(tea)
	work := func(credentials string) float64 {
		g.Look(u, []byte(basic(credentials)), 1)
		j := g.Job()
		return testing.AllocsPerRun(5, func() { j.Right() })
	}
	if known, nobody := work("user0:x"), work("nobody:x"); known != nobody || known < 1 {
		t.Errorf("a wrong password takes %v allocations, an unknown user %v", known, nobody)
	}
}

func BenchmarkLook(b *testing.B) {
	c := guard.NewChecker()
	defer c.Close()
	g, u := guard.NewCache(c), users(tea)
	value := []byte(basic("user0:a password that is quite long"))
	_, d := g.Look(u, value, 1)
	g.Learn(d, true, 1)
	b.ReportAllocs()
	for b.Loop() {
		g.Look(u, value, 2)
	}
}
