package proxy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// logsIn sends credentials for a path on a new connection and returns the status.
func logsIn(t *testing.T, addr, path, credentials string) int {
	t.Helper()
	c := l7test.Dial(t, addr)
	_ = c.SetDeadline(time.Now().Add(checksTake))
	return c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n" + login(credentials) + "\r\n\r\n").Get().StatusCode
}

// A device that repeats an outdated password is one guess, however often it repeats it.
func TestAnOutdatedPasswordLocksNobodyOut(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	addr := l7test.New(t, 2).Serve(nil, asks(b))
	for i := range 60 {
		if code := logsIn(t, addr, "/", "ali:outdated"); code != 401 {
			t.Fatalf("repetition %d got %d", i, code)
		}
	}
	if code := logsIn(t, addr, "/", "ali:sesame"); code != 200 {
		t.Errorf("the right password got %d", code)
	}
}

// Guesses for a user of a service lock out only that user of that service.
func TestGuessesForAUserAreThoseOfThatServiceOnly(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	one, two := asks(b), asks(b)
	one.Name, one.URL = "one", "^/one"
	two.Auth.Users = []farm.AuthUser{{Name: "ali", Hash: hashes[2]}}
	addr := l7test.New(t, 2).Serve(nil, one, two)
	for i := range 31 {
		want := 401
		if i == 30 {
			want = 429
		}
		if code := logsIn(t, addr, "/one", fmt.Sprintf("ali:guess%d", i)); code != want {
			t.Fatalf("guess %d got %d, want %d", i, code, want)
		}
	}
	for _, try := range []struct {
		path, credentials string
		want              int
	}{{"/one", "ali:sesame", 429}, {"/one", "bo:other", 200}, {"/two", "ali:sesame", 200}} {
		if code := logsIn(t, addr, try.path, try.credentials); code != try.want {
			t.Errorf("%s: %s got %d, want %d", try.path, try.credentials, code, try.want)
		}
	}
}

func TestAnAddressCannotTryOneUserAfterTheOther(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, asks(b)))
	_ = c.SetDeadline(time.Now().Add(checksTake))
	codes := map[int]int{}
	start := time.Now()
	for i := range 400 {
		codes[c.Send(request(login(fmt.Sprintf("user%d:guess", i)))).Get().StatusCode]++
	}
	if most := 301 + int(time.Since(start)/(3*time.Second)); codes[401] < 300 || codes[401] > most || codes[401]+codes[429] != 400 {
		t.Errorf("got %v, want 401 at most %d times", codes, most)
	}
}

// A password that arrives on several loops at once is one guess.
func TestAPasswordOnAllLoopsIsOneGuess(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	a.Engine.LimitChecks(1000)
	s := asks(b)
	s.Auth.Users = []farm.AuthUser{{Name: "ali", Hash: "$2a$08$3490AOpmAuvVMlymtWdw5uUCd07YrnE6pwi.ESaVlcuAVT0Zwck3K"}} // cost 8: a check takes at least 15 ms
	addr := a.Serve(nil, s)
	guess := func(i int) *l7test.Client {
		c := l7test.Dial(t, addr)
		_ = c.SetDeadline(time.Now().Add(checksTake))
		return c.Send(request(login(fmt.Sprintf("ali:guess%d", i))))
	}
	var waiting []*l7test.Client
	for i := range 29 { // leaves one guess
		waiting = append(waiting, guess(i))
	}
	l7test.Eventually(t, "all of them came", func() bool { return a.Segment.SumFarm(1).Requests == 29 })
	for range 20 {
		waiting = append(waiting, guess(29))
	}
	for i, c := range waiting {
		if code := c.Get().StatusCode; code != 401 {
			t.Errorf("client %d got %d", i, code)
		}
	}
}

// Many users may log in at once, e.g. after a restart, also while some addresses guess.
func TestManyRightPasswordsAtOnceAreAllChecked(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	a.Engine.LimitChecks(1000)
	s := asks(b)
	s.Auth.Users = []farm.AuthUser{{Name: "ali", Hash: "$2a$08$3490AOpmAuvVMlymtWdw5uUCd07YrnE6pwi.ESaVlcuAVT0Zwck3K"}} // as above
	for i := range 50 {
		s.Auth.Users = append(s.Auth.Users, farm.AuthUser{Name: fmt.Sprintf("user%d", i), Hash: hashes[1]})
	}
	addr := a.Serve(func(h *farm.HTTP) { h.Trusted = networks("127.0.0.0/8") }, s)
	send := func(credentials, from string) *l7test.Client {
		c := l7test.Dial(t, addr)
		_ = c.SetDeadline(time.Now().Add(checksTake))
		return c.Send(request(login(credentials), "X-Forwarded-For: "+from))
	}
	for i := range 90 {
		send(fmt.Sprintf("ali:guess%d", i), fmt.Sprintf("192.0.2.%d", i/30))
	}
	l7test.Eventually(t, "the guesses came", func() bool { return a.Segment.SumFarm(1).Requests == 90 })
	var users []*l7test.Client
	for i := range 50 {
		users = append(users, send(fmt.Sprintf("user%d:sesame", i), fmt.Sprintf("198.51.100.%d", i)))
	}
	for i, c := range users {
		if code := c.Get().StatusCode; code != 200 {
			t.Errorf("user %d got %d", i, code)
		}
	}
}
