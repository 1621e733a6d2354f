package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// parallel runs that many tries at the same time, and counts their results.
func parallel(n int, try func(i int) error) map[string]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[string]int{}
	for i := range n {
		all.Go(func() {
			err := try(i)
			var locked *auth.LockedError
			result := fmt.Sprint(err)
			if errors.As(err, &locked) {
				result = "locked"
			}
			mu.Lock()
			defer mu.Unlock()
			got[result]++
		})
	}
	all.Wait()
	return got
}

// The limits for parallel guesses equal the limits for sequential ones, for every kind of
// guess and every call.
func TestParallelGuessesAreLimited(t *testing.T) {
	for name, try := range map[string]func(g *auth.Guard, i int, password string) error{
		"one user from one address": func(g *auth.Guard, i int, password string) error {
			_, err := g.LogIn(basic("root", password))
			return err
		},
		"one user from many addresses": func(g *auth.Guard, i int, password string) error {
			_, err := g.LogIn(from(i, basic("root", password)))
			return err
		},
		"many users from one address": func(g *auth.Guard, i int, password string) error {
			user := "root"
			if i < 199 {
				user = fmt.Sprint("nobody", i)
			}
			_, err := g.LogIn(basic(user, password))
			return err
		},
		"the password that is asked for again": func(g *auth.Guard, i int, password string) error {
			switch right, err := g.Right(from(i, request()), "root", password); {
			case err != nil:
				return err
			case !right:
				return auth.ErrBadCredential
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, b := strangers(t)
				var checked atomic.Int32
				b.System = func(_ context.Context, _, password string) (bool, error) {
					checked.Add(1)
					time.Sleep(time.Second)
					return password == "pa$$word", nil
				}
				got := parallel(199, func(i int) error { return try(g, i, "wrong") })
				if got[auth.ErrBadCredential.Error()] != 10 || got["locked"] != 189 || checked.Load() > 10 {
					t.Errorf("of 199 wrong ones %v, and %d were checked", got, checked.Load())
				}
				if got := parallel(1, func(int) error { return try(g, 199, "pa$$word") }); got["locked"] != 1 {
					t.Errorf("the right one after them: %v", got)
				}
			})
		})
	}
}

// Correct passwords sent at the same time wait for each other, and all are accepted.
func TestParallelRightPasswordsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := strangers(t)
		b.System = func(context.Context, string, string) (bool, error) { time.Sleep(time.Second); return true, nil }
		if got := parallel(50, func(int) error { _, err := g.LogIn(basic("root", "pa$$word")); return err }); got["<nil>"] != 50 {
			t.Errorf("of 50: %v", got)
		}
	})
}

func TestCodesAreGuessedWithinTheLimits(t *testing.T) {
	b, c := users(t), newClock()
	g := auth.NewGuard(&oneKey{}, b, c.now)
	code := factor(t, b, "eve", c)
	got := parallel(100, func(i int) error { _, err := g.LogIn(coded("eve", "secret-2", fmt.Sprintf("%06d", i))); return err })
	if got[auth.ErrBadCredential.Error()] != 10 || got["locked"] != 90 {
		t.Errorf("codes of logins: %v", got)
	}
	c.advance(2 * time.Minute)
	got = parallel(100, func(i int) error {
		right, err := g.Code(from(i, request()), "eve", "000000")
		return errors.Join(err, map[bool]error{false: rbac.ErrCode}[right || err != nil])
	})
	if got[rbac.ErrCode.Error()] != 10 || got["locked"] != 90 {
		t.Errorf("codes of a session: %v", got)
	}
	c.advance(2 * time.Minute)
	if right, err := g.Code(request(), "eve", code()); !right || err != nil {
		t.Errorf("later: %t, %v", right, err)
	}
}

// Passwords and codes that a session must repeat also count by address: sessions of many
// users do not give a client more guesses.
func TestGuessesWithinSessionsCountByAddress(t *testing.T) {
	for name, try := range map[string]func(g *auth.Guard, user string) error{
		"password": func(g *auth.Guard, user string) error { _, err := g.Right(request(), user, "wrong-1"); return err },
		"code": func(g *auth.Guard, user string) error {
			return g.Try(request(), user, func() error { return rbac.ErrCode })
		},
	} {
		g, _ := strangers(t)
		for i := range 10 {
			_ = try(g, fmt.Sprint("u", i))
		}
		var locked *auth.LockedError
		if err := try(g, "u11"); !errors.As(err, &locked) {
			t.Errorf("%s: the eleventh from one address: %v", name, err)
		}
	}
}

// The response to a wrong guess takes longer than to a correct one. If a client leaves
// earlier, its guess must still count.
func TestAClientThatLeavesHasGuessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := strangers(t)
		checked := 0
		b.System = func(ctx context.Context, _, _ string) (bool, error) {
			checked++
			<-ctx.Done()
			return false, ctx.Err()
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = g.LogIn(basic("root", "wrong").WithContext(ctx))
			cancel()
		}
		if checked != 10 {
			t.Errorf("%d guesses were checked", checked)
		}
	})
}

func TestAQueueOfGuessesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := strangers(t)
		if err := b.UseServices(rbac.Services{LDAP: true}); err != nil {
			t.Fatal(err)
		}
		b.Directory = func(context.Context, string, string) (bool, error) {
			time.Sleep(time.Minute)
			return false, errors.New("no answer")
		}
		for range 10 {
			go g.LogIn(basic("u0", "wrong"))
		}
		synctest.Wait()
		began := time.Now()
		var locked *auth.LockedError
		if _, err := g.LogIn(basic("u0", "pa$$word")); !errors.As(err, &locked) || time.Since(began) != 15*time.Second {
			t.Errorf("it waits %s: %v", time.Since(began), err)
		}
		time.Sleep(time.Minute)
	})
}

// wrongKey sends a wrong key.
func wrongKey(g *auth.Guard) error {
	_, err := g.Identify(request("ZAPI_KEY", "wrong"))
	return err
}

func TestWrongKeysSlowDownNoRightOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := users(t)
		g := auth.NewGuard(&oneKey{}, b, time.Now)
		token := begin(t, g, "eve", "secret-2")
		if _, err := g.Identify(request("ZAPI_KEY", annsKey)); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := wrongKey(g); !errors.Is(err, auth.ErrBadCredential) {
				t.Fatalf("%d: %v", i, err)
			}
		}
		var locked *auth.LockedError
		if err := wrongKey(g); !errors.As(err, &locked) || locked.Wait != time.Minute {
			t.Errorf("the eleventh: %v", err)
		}
		for range 100 {
			go wrongKey(g)
		}
		synctest.Wait()
		began := time.Now()
		for name, r := range map[string]*http.Request{"a numbered key": request("ZAPI_KEY", secret), "a user's key that was used here": request("ZAPI_KEY", annsKey), "a session": with(token)} {
			if _, err := g.Identify(r); err != nil || time.Since(began) != 0 {
				t.Errorf("%s: got %v after %s, want 0", name, err, time.Since(began))
			}
		}
		if _, err := g.LogIn(basic("root", "pa$$word")); err != nil {
			t.Errorf("a password: %v", err)
		}
		other := from(1, request("ZAPI_KEY", "wrong"))
		if _, err := g.Identify(other); !errors.Is(err, auth.ErrBadCredential) {
			t.Errorf("a wrong key from elsewhere: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if err := wrongKey(g); !errors.Is(err, auth.ErrBadCredential) {
			t.Errorf("two minutes later: %v", err)
		}
	})
}

// Keys chosen by users can be guessed. Beyond the limit of their source they are checked one
// by one, and a correct one is accepted in its turn.
func TestKeysThatUsersChoseAreGuessedSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := auth.NewGuard(&oneKey{}, users(t), time.Now)
		if got := parallel(10, func(int) error { return wrongKey(g) }); got[auth.ErrBadCredential.Error()] != 10 {
			t.Fatalf("the first ten: %v", got)
		}
		began := time.Now()
		for range 5 {
			go wrongKey(g)
		}
		synctest.Wait()
		if _, err := g.Identify(request("ZAPI_KEY", annsKey)); err != nil || time.Since(began) != 2500*time.Millisecond {
			t.Errorf("the sixth, which is right: %v after %s", err, time.Since(began))
		}
		began = time.Now()
		if got := parallel(500, func(int) error { return wrongKey(g) }); got["locked"] != 500 || time.Since(began) > 11*time.Second {
			t.Errorf("500 more: %v after %s", got, time.Since(began))
		}
	})
}

// A key that is revoked while it waits for its turn is refused, and a user whose rights change
// gets the new ones.
func TestAKeyIsCheckedAgainAfterItsTurn(t *testing.T) {
	other, off := "Other0123456789", false
	for name, c := range map[string]struct {
		change func(*rbac.Book) error
		ok     bool
	}{
		"another key":   {func(b *rbac.Book) error { return b.ChangeUser("ann", rbac.UserChange{Key: &other}) }, false},
		"no more API":   {func(b *rbac.Book) error { return b.ChangeUser("ann", rbac.UserChange{API: &off}) }, false},
		"deleted":       {func(b *rbac.Book) error { return b.RemoveUser("ann") }, false},
		"another group": {func(b *rbac.Book) error { return b.Leave("shop", "ann") }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := users(t)
			g := auth.NewGuard(&oneKey{}, b, time.Now)
			for range 10 {
				_ = wrongKey(g)
			}
			for range 5 {
				go wrongKey(g)
			}
			synctest.Wait()
			go func() {
				time.Sleep(time.Second)
				if err := c.change(b); err != nil {
					t.Error(err)
				}
			}()
			by, err := g.Identify(request("ZAPI_KEY", annsKey))
			if (err == nil) != c.ok || c.ok && by.Who.Group() != "" {
				t.Errorf("%s: %v, group %q", name, err, by.Who.Group())
			}
		})
	}
}

func TestTakenKeyCountsAsAGuess(t *testing.T) {
	taken := func() error { return rbac.ErrTaken }
	free := func() error { return nil }
	choose := func(g *auth.Guard, r *http.Request, user string, change func() error) bool {
		var locked *auth.LockedError
		return errors.As(g.ChooseKey(r, user, change), &locked)
	}
	for _, c := range []struct {
		name, user string
		change     func() error
		locked     bool
	}{
		{"a user who hits on keys", "ann", taken, true}, {"a user who hits on none", "ann", free, true},
		{"root who hits on keys", "root", taken, true}, {"root who hits on none", "root", free, false},
	} {
		g, _ := strangers(t)
		for range 10 {
			if choose(g, request(), c.user, c.change) {
				t.Fatalf("%s: locked early", c.name)
			}
		}
		for at, r := range map[string]*http.Request{"here": request(), "elsewhere": from(1, request())} {
			if got := choose(g, r, c.user, free); got != c.locked {
				t.Errorf("%s, %s: locked %t, want %t", c.name, at, got, c.locked)
			}
		}
		if got := choose(g, request(), "eve", free); got != (c.user == "ann") {
			t.Errorf("%s: another user from there: locked %t", c.name, got)
		}
		if c.user == "ann" && choose(g, request(), "root", free) {
			t.Errorf("%s: root is locked, too", c.name)
		}
		if _, err := g.LogIn(basic("root", "pa$$word")); err != nil {
			t.Errorf("%s: a login: %v", c.name, err)
		}
	}
}
