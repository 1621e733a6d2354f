package guard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/guard"
)

// Hashes of cost 5, of the words they are called after.
const (
	tea      = "$2a$05$buP1zTIhCSBwzjbi2G2IveSR91Z/C.SYy3pcsq0fexwERkkwA/UL6"
	sesame   = "$2a$05$Fhk/bJ5pEWza6TlcgqzPZuZjaotEi9eanEI.TXFbcfFpGACE9fEA."
	other    = "$2a$05$lmdZ0EIMVx3Fp7h/iWyDqul7ZzDZLIXrHtcR0d3IdCRyYQPxzzc8a"
	one      = "$2a$05$qMZgEQVx8eRADwl8ReSsmu6onEvFU8qCYhYb.Lw84izEqr4Biml6y"
	oneAgain = "$2a$05$49lV5KGs7sW2TsR/MmZcl.pvfZpJKz5ykfnOp0fRRbAZFO.agisma"
)

func users(hashes ...string) *guard.Users {
	var list []farm.AuthUser
	for i, h := range hashes {
		list = append(list, farm.AuthUser{Name: fmt.Sprintf("user%d", i), Hash: h})
	}
	return guard.NewUsers(list)
}

func checker(t *testing.T) *guard.Checker {
	c := guard.NewChecker()
	t.Cleanup(c.Close)
	return c
}

// ask looks at credentials and has them checked if they are not known.
func ask(g *guard.Gate, u *guard.Users, credentials string, now int64) (v guard.Verdict, right bool) {
	v, d := g.Look(u, []byte(basic(credentials)), now)
	if v != guard.Unchecked {
		return v, v == guard.Right
	}
	if right = g.Job().Right(); right {
		g.Learn(d, now)
	}
	return v, right
}

func TestOnlyTheRightPasswordOfAUserIsRight(t *testing.T) {
	t.Parallel()
	g := guard.NewGate(checker(t))
	u := users(sesame, other)
	for credentials, want := range map[string]bool{
		"user0:sesame": true, "user1:other": true, "user0:other": false, "user0:": false, "user2:sesame": false, ":sesame": false,
	} {
		if _, right := ask(g, u, credentials, 1); right != want {
			t.Errorf("%s is right: %v", credentials, right)
		}
	}
}

func TestWhatWasRightIsKnownForAWhileAndForThatHashOnly(t *testing.T) {
	t.Parallel()
	g, before, after := guard.NewGate(checker(t)), one, oneAgain
	if v, right := ask(g, users(before), "user0:one", 1); v != guard.Unchecked || !right {
		t.Fatalf("first: %v, right %v", v, right)
	}
	if v, _ := ask(g, users(before), "user0:one", int64(time.Hour)); v != guard.Right {
		t.Errorf("within the hour: %v", v)
	}
	for what, v := range map[string]guard.Verdict{
		"another password":      look(g, users(before), "user0:two", 2),
		"another user":          look(g, users(before, before), "user1:one", 2),
		"another hash":          look(g, users(after), "user0:one", 2),
		"a user that is gone":   look(g, users(), "user0:one", 2),
		"after it":              look(g, users(before), "user0:one", int64(2*time.Hour)),
		"a gate with no memory": look(guard.NewGate(checker(t)), users(before), "user0:one", 2),
	} {
		if v == guard.Right {
			t.Errorf("%s is let in", what)
		}
	}
}

func look(g *guard.Gate, u *guard.Users, credentials string, now int64) guard.Verdict {
	if u == nil {
		u = users(tea)
	}
	v, _ := g.Look(u, []byte(basic(credentials)), now)
	return v
}

// A name with a colon moved cannot stand for another's credentials, nor can what
// one gate knows for a user without a usable hash.
func TestUsersWithoutAUsableHashGetNowhere(t *testing.T) {
	t.Parallel()
	g := guard.NewGate(checker(t))
	if v := look(g, users("plain"), "user0:plain", 1); v != guard.Malformed {
		t.Errorf("a text that is no hash: %v", v)
	}
}

func TestAGateForgetsTheOldestWhenItIsFull(t *testing.T) {
	t.Parallel()
	g, u := guard.NewGate(checker(t)), users(tea)
	const count = 20000
	for i := range count {
		_, d := g.Look(u, []byte(basic(fmt.Sprintf("user0:%d", i))), int64(i))
		g.Learn(d, int64(i)*int64(time.Minute))
	}
	known := 0
	for i := range count {
		if v, _ := g.Look(u, []byte(basic(fmt.Sprintf("user0:%d", i))), 0); v == guard.Right {
			known++
		}
	}
	if known > 4096 || known < 3000 {
		t.Errorf("%d are known, at most 4096 should be", known)
	}
}

func TestTheQueueIsBoundedAndNothingWaitsAfterClose(t *testing.T) {
	t.Parallel()
	c := guard.NewChecker()
	g, u := guard.NewGate(c), users(tea)
	taken, done := 0, make(chan bool, 1000)
	for i := range 1000 {
		g.Look(u, []byte(basic(fmt.Sprintf("user0:%d", i))), 1)
		j := g.Job()
		j.Done = func(right bool) { done <- right }
		if c.Check(j) {
			taken++
		}
	}
	if taken < 64 || taken > 200 {
		t.Errorf("%d of 1000 got a place", taken)
	}
	if <-done {
		t.Error("a wrong password is right")
	}
	c.Close()
	c.Close()
}

func TestUsersThatDoNotExistTakeAsLong(t *testing.T) {
	t.Parallel()
	g, u := guard.NewGate(checker(t)), users(tea)
	took := func(credentials string) time.Duration {
		best := time.Hour
		for range 5 {
			g.Look(u, []byte(basic(credentials)), 1)
			j, begin := g.Job(), time.Now()
			j.Right()
			best = min(best, time.Since(begin))
		}
		return best
	}
	known, unknown := took("user0:y"), took("nobody:y")
	if known > 3*unknown || unknown > 3*known || unknown < time.Millisecond/2 {
		t.Errorf("a wrong password takes %v, a user nobody is %v", known, unknown)
	}
}
