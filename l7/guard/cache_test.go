package guard_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/guard"
)

// Hashes of cost 5 of the words in their names.
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

// ask looks up credentials and has them checked if they are unknown.
func ask(g *guard.Cache, u *guard.Users, credentials string, now int64) (v guard.Verdict, right bool) {
	v, d := g.Look(u, []byte(basic(credentials)), now)
	if v != guard.Unchecked {
		return v, v == guard.Right
	}
	right = g.Job().Right()
	g.Learn(d, right, now)
	return v, right
}

func TestOnlyTheRightPasswordOfAUserIsRight(t *testing.T) {
	t.Parallel()
	g := guard.NewCache(checker(t))
	u := users(sesame, other)
	for credentials, want := range map[string]bool{
		"user0:sesame": true, "user1:other": true, "user0:other": false, "user0:": false, "user2:sesame": false, ":sesame": false,
	} {
		if _, right := ask(g, u, credentials, 1); right != want {
			t.Errorf("%s is right: got %v, want %v", credentials, right, want)
		}
	}
	g.Look(u, []byte(basic("user0:sesame")), 1)
	if j := g.Job(); !j.Right() || j.Right() {
		t.Error("a password is kept once it was checked")
	}
}

func TestVerifiedPasswordsAreCachedPerHash(t *testing.T) {
	t.Parallel()
	g, before, after := guard.NewCache(checker(t)), one, oneAgain
	if v, right := ask(g, users(before), "user0:one", 1); v != guard.Unchecked || !right {
		t.Fatalf("first: %v, right %v", v, right)
	}
	if v, _ := ask(g, users(before), "user0:one", int64(time.Hour)); v != guard.Right {
		t.Errorf("within the hour: got %v, want %v", v, guard.Right)
	}
	_, secret := g.Look(users(before), []byte(basic("user0:one")), 2)
	if _, d := guard.NewCache(checker(t)).Look(users(before), []byte(basic("user0:one")), 2); d == secret {
		t.Error("a digest is the same in every process")
	}
	for what, v := range map[string]guard.Verdict{
		"another password":           look(g, users(before), "user0:two", 2),
		"another user":               look(g, users(before, before), "user1:one", 2),
		"another hash":               look(g, users(after), "user0:one", 2),
		"a user that is gone":        look(g, users(), "user0:one", 2),
		"after it":                   look(g, users(before), "user0:one", int64(time.Hour)*5/4+1),
		"a cache with nothing in it": look(guard.NewCache(checker(t)), users(before), "user0:one", 2),
	} {
		if v == guard.Right {
			t.Errorf("%s is accepted", what)
		}
	}
}

func look(g *guard.Cache, u *guard.Users, credentials string, now int64) guard.Verdict {
	if u == nil {
		u = users(tea)
	}
	v, _ := g.Look(u, []byte(basic(credentials)), now)
	return v
}

// Moving the colon does not yield another user's credentials, nor do cached results for a
// user without a usable hash.
func TestUsersWithoutAUsableHashAreRefused(t *testing.T) {
	t.Parallel()
	g := guard.NewCache(checker(t))
	if v := look(g, users("plain"), "user0:plain", 1); v != guard.Malformed {
		t.Errorf("a text that is no hash: got %v, want %v", v, guard.Malformed)
	}
}

func TestFullCacheEvictsTheOldest(t *testing.T) {
	t.Parallel()
	g, u := guard.NewCache(checker(t)), users(tea)
	const count = 20000
	for i := range count {
		_, d := g.Look(u, []byte(basic(fmt.Sprintf("user0:%d", i))), int64(i))
		for range 2 { // the second time it takes no slot of another
			g.Learn(d, true, int64(i)*int64(time.Minute))
		}
	}
	known, latest := 0, 0
	for i := range count {
		if v, _ := g.Look(u, []byte(basic(fmt.Sprintf("user0:%d", i))), 0); v == guard.Right {
			known++
			if i >= count-1000 {
				latest++
			}
		}
	}
	if known != 4096 || latest < 900 {
		t.Errorf("%d are cached, and %d of the last 1000, want 4096 and nearly all", known, latest)
	}
}

func TestQueueIsBoundedAndEmptyAfterClose(t *testing.T) {
	t.Parallel()
	c := guard.NewChecker()
	g, u := guard.NewCache(c), users(tea)
	begun, hold, closed := make(chan bool, 100), make(chan struct{}), make(chan struct{})
	dropped := 0
	c.Limit(64, time.Hour)
	job := func() *guard.Job {
		g.Look(u, []byte(basic("user0:wrong")), 1)
		j := g.Job()
		j.Done = func(v guard.Verdict) {
			if v == guard.Unchecked {
				dropped++
				return
			}
			begun <- v == guard.Right
			<-hold
		}
		return j
	}
	for range max(1, runtime.NumCPU()/4) {
		if c.Check(job()); <-begun {
			t.Error("a wrong password is right")
		}
	}
	for range 1000 {
		c.Check(job())
	}
	if dropped != 1000-64 {
		t.Errorf("%d of 1000 were dropped while checks are blocked", dropped)
	}
	go func() { c.Close(); c.Close(); close(closed) }()
	for c.Running() { // until Close takes effect
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("Close did not wait for the check in progress")
	default:
	}
	close(hold)
	if <-closed; len(begun) != 0 {
		t.Errorf("%d that waited were checked after Close", len(begun))
	}
}

// Each unknown name is always compared with the same decoy hash, which has the cost of a
// real one, so the response time reveals nothing.
func TestUnknownUsersTakeAsLong(t *testing.T) {
	t.Parallel()
	dear := strings.Replace(sesame, "$05$", "$06$", 1)
	g, u, costs := guard.NewCache(checker(t)), users(tea, dear), map[string]int{}
	for i := range 100 {
		value := []byte(basic(fmt.Sprintf("nobody%d:tea", i)))
		g.Look(u, value, 1)
		hash := g.Job().Hash()
		if g.Look(u, value, 1); g.Job().Hash() != hash || hash == tea || hash == dear {
			t.Errorf("nobody%d is checked with %s, then with %s", i, hash, g.Job().Hash())
		}
		costs[hash[:7]]++
	}
	if costs["$2a$05$"] < 20 || costs["$2a$06$"] < 20 || len(costs) != 2 {
		t.Errorf("costs are %v, as many of each are wanted", costs)
	}
}

// Refused credentials are refused again without a check, and do not evict verified ones.
func TestRefusedPasswordsAreCached(t *testing.T) {
	t.Parallel()
	g, u := guard.NewCache(checker(t)), users(one)
	ask(g, u, "user0:one", 1)
	ask(g, u, "user0:two", 1)
	for i := range 20000 {
		_, d := g.Look(u, []byte(basic(fmt.Sprintf("user0:%d", i))), 1)
		g.Learn(d, false, 1)
	}
	_, d := g.Look(u, []byte(basic("user0:two")), 1)
	g.Learn(d, false, 1)
	for what, c := range map[string]struct{ got, want guard.Verdict }{
		"the right password": {look(g, u, "user0:one", 2), guard.Right},
		"the wrong one":      {look(g, u, "user0:two", 2), guard.Wrong},
		"when it is right":   {look(g, users(oneAgain), "user0:two", 2), guard.Unchecked},
		"ten minutes later":  {look(g, u, "user0:two", int64(10*time.Minute)+1), guard.Unchecked},
	} {
		if c.got != c.want {
			t.Errorf("%s: verdict %d, want %d", what, c.got, c.want)
		}
	}
}
