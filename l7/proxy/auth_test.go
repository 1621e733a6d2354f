package proxy_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// hashes of passwords with a low cost: one of "other", then some of "sesame".
var hashes = []string{
	"$2a$05$lmdZ0EIMVx3Fp7h/iWyDqul7ZzDZLIXrHtcR0d3IdCRyYQPxzzc8a",
	"$2a$05$Fhk/bJ5pEWza6TlcgqzPZuZjaotEi9eanEI.TXFbcfFpGACE9fEA.",
	"$2a$05$tK49K7D1.pacT7889VSGxOji26JHan6zjexPZofqjq0twbpQxSNz2",
	"$2a$05$YyugtI/KM19iRrcar6i4QOfD2NNIxGT5NMkNVuvt3tuMUtXCLGokS",
	"$2a$05$ngj.DdgN0wjrDNPQo7B4zubs4rJ5ZaXAGEPpI.Tx4Qeh9vDdhUVxq",
	"$2a$05$0/S/HAl/7DP8VMG62zh4Y.alq7diZUlQnCBopPsxeBOpPOZgQaTIS",
}

// asks is a service for the user ali, whose password is sesame.
func asks(b *l7test.Backend) farm.Service {
	s := l7test.Service("web", b.Addr)
	s.Auth = &farm.Auth{Users: []farm.AuthUser{{Name: "bo", Hash: hashes[0]}, {Name: "ali", Hash: hashes[1]}}, Realm: `the "inner" room`}
	return s
}

// asksKey is a service that requires one of the keys.
func asksKey(b *l7test.Backend, keys ...string) farm.Service {
	s := l7test.Service("web", b.Addr)
	s.Auth = &farm.Auth{Header: "X-Api-Key"}
	for _, k := range keys {
		sum := sha256.Sum256([]byte(k))
		s.Auth.Keys = append(s.Auth.Keys, farm.AuthKey(hex.EncodeToString(sum[:])))
	}
	return s
}

func login(credentials string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestOnlyUsersWithTheirPasswordGetIn(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(logs, asks(b)))
	records := l7test.RecordsOf(t, a)
	const challenge = `Basic realm="the \"inner\" room", charset="UTF-8"`
	for _, try := range []struct {
		lines string
		want  int
		class string
	}{
		{"", 401, ""},
		{login("ali:sesame"), 200, ""},
		{login("ali:sesame"), 200, ""},
		{login("ali:other"), 401, "unauthorized"},
		{login("ali:"), 401, "unauthorized"},
		{login("nobody:sesame"), 401, "unauthorized"},
		{login("bo:other"), 200, ""},
		{"Authorization: Bearer x", 401, "unauthorized"},
		{"Authorization: Basic !", 401, "unauthorized"},
		{login("ali:sesame") + "\r\n" + login("bo:other"), 401, "unauthorized"},
	} {
		sent := get("/")
		if try.lines != "" {
			sent = request(strings.Split(try.lines, "\r\n")...)
		}
		res := c.Send(sent).Get()
		if l := records.Next(); l.Service != 1 || int(l.Status) != try.want || classOf(a, l) != try.class {
			t.Errorf("%s: the record has %d, %q of service %d", try.lines, l.Status, classOf(a, l), l.Service)
		}
		if res.StatusCode != try.want || (res.Header.Get("WWW-Authenticate") == challenge) != (try.want == 401) {
			t.Errorf("%s: got %d, %v", try.lines, res.StatusCode, res.Header)
		}
	}
	if strings.Contains(b.Received(), "Authorization") || strings.Count(b.Received(), "GET /") != 3 {
		t.Errorf("the backend got %q", b.Received())
	}
	l7test.Eventually(t, "each wrong password leaves a line", func() bool { return len(a.Log.Lines("unauthorized")) == 6 })
	if text := a.Log.String(); strings.Contains(text, "sesame") || strings.Contains(text, "ali") {
		t.Errorf("the log holds credentials: %s", text)
	}
}

func TestExchangesThatWaitForAPasswordGoOnWithTheirBodies(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			body := make([]byte, 10)
			if _, err := io.ReadFull(c, body); err != nil {
				return
			}
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + string(body))
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.Continue = farm.ContinueIgnore }, asks(b))
	post := "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n" + login("ali:sesame") + "\r\n"
	hash := 1
	for name, send := range map[string]func(c *l7test.Client){
		"at once":   func(c *l7test.Client) { c.Send(post + "\r\n0123456789") },
		"in pieces": func(c *l7test.Client) { c.Send(post + "\r\n0123"); c.Send("456789") },
		"when asked": func(c *l7test.Client) {
			c.Send(post + "Expect: 100-continue\r\n\r\n")
			status(t, c)
			c.Send("0123456789")
		},
		"with a next": func(c *l7test.Client) { c.Send(post + "\r\n0123456789" + post + "\r\n0123456789"); c.Response("POST") },
	} {
		s := asks(b)
		s.Auth.Users[1].Hash = hashes[hash] // so the cache does not know it
		hash++
		a.Serve(nil, s)
		c := l7test.Dial(t, addr)
		send(c)
		if res := c.Response("POST"); res.StatusCode != 200 || res.Text != "0123456789" {
			t.Errorf("%s: got %d %q", name, res.StatusCode, res.Text)
		}
	}
}

func TestPasswordCheckAdmitsAllThatWaitForIt(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		ask := func(credentials string) int {
			r, _ := http.NewRequest("POST", url, strings.NewReader("body"))
			user, pass, _ := strings.Cut(credentials, ":")
			r.SetBasicAuth(user, pass)
			res, err := c.Do(r)
			if err != nil {
				t.Error(err)
				return 0
			}
			defer res.Body.Close()
			if text, _ := io.ReadAll(res.Body); res.StatusCode == 200 && string(text) != "body" {
				t.Errorf("got %q", text)
			}
			return res.StatusCode
		}
		for credentials, want := range map[string]int{"ali:sesame": 200, "ali:wrong": 401} {
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if code := ask(credentials); code != want {
						t.Errorf("%s: got %d", credentials, code)
					}
				})
			}
			wg.Wait()
		}
	}, func(h *farm.HTTP) {
		h.Services[0].Auth = &farm.Auth{Users: []farm.AuthUser{{Name: "ali", Hash: hashes[1]}}}
	})
}

func TestClientsThatLeaveWhileTheirPasswordIsCheckedLeaveNothing(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, asks(b))
	for i := range 20 {
		c := l7test.Dial(t, addr)
		c.Send(request(login(fmt.Sprintf("ali:%d", i))))
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	l7test.Eventually(t, "all are gone", func() bool { return a.Segment.SumFarm(1).Established == 0 })
	if c := l7test.Dial(t, addr); c.Send(request(login("ali:sesame"))).Get().StatusCode != 200 {
		t.Error("the next one is not served")
	}
}

func TestGuessingIsSlowAndHindersNobodyWhoIsKnown(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(func(h *farm.HTTP) { h.Trusted = networks("127.0.0.0/8") }, asks(b))
	user := l7test.Dial(t, addr)
	_ = user.SetDeadline(time.Now().Add(checksTake))
	if code := user.Send(request(login("ali:sesame"))).Get().StatusCode; code != 200 {
		t.Fatalf("got %d", code)
	}
	codes := map[int]int{}
	c := l7test.Dial(t, addr)
	_ = c.SetDeadline(time.Now().Add(checksTake))
	for i := range 40 {
		res := c.Send(request(login(fmt.Sprintf("ali:guess%d", i)), "X-Forwarded-For: 192.0.2.1")).Get()
		codes[res.StatusCode]++
		if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		if code := user.Send(request(login("ali:sesame"), "X-Forwarded-For: 192.0.2.1")).Get().StatusCode; code != 200 {
			t.Fatalf("a known user got %d", code)
		}
	}
	if codes[401] < 30 || codes[401] > 32 || codes[401]+codes[429] != 40 {
		t.Errorf("guesses got %v", codes)
	}
	if code := l7test.Dial(t, addr).Send(request(login("ali:wrong"), "X-Forwarded-For: 192.0.2.2")).Get().StatusCode; code != 401 {
		t.Errorf("another client got %d", code)
	}
}

// checksTake is the timeout of a client behind a queue of passwords. Checks take ten times
// longer with the race detector.
const checksTake = 3 * time.Minute

// A client that sends many passwords at once is refused before they are checked, so that
// others find room in the queue.
func TestManyGuessesAtOnceDoNotFillTheQueue(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	a.Engine.LimitChecks(100)
	s := asks(b)
	s.Auth.Users = []farm.AuthUser{{Name: "ali", Hash: "$2a$08$3490AOpmAuvVMlymtWdw5uUCd07YrnE6pwi.ESaVlcuAVT0Zwck3K"}} // cost 8: a check takes at least 15 ms
	addr := a.Serve(func(h *farm.HTTP) { h.Trusted = networks("127.0.0.0/8") }, s)
	var guessing []*l7test.Client
	for i := range 100 {
		guessing = append(guessing, l7test.Dial(t, addr).Send(request(login(fmt.Sprintf("ali:guess%d", i)), "X-Forwarded-For: 192.0.2.1")))
	}
	l7test.Eventually(t, "all of them came", func() bool { return a.Segment.SumFarm(1).Requests == 100 })
	other := l7test.Dial(t, addr)
	_ = other.SetDeadline(time.Now().Add(checksTake))
	if code := other.Send(request(login("ali:wrong"), "X-Forwarded-For: 192.0.2.2")).Get().StatusCode; code != 401 {
		t.Errorf("another client got %d", code)
	}
	codes := map[int]int{}
	for _, c := range guessing {
		_ = c.SetDeadline(time.Now().Add(checksTake))
		codes[c.Get().StatusCode]++
	}
	if codes[401] < 30 || codes[401] > 32 || codes[401]+codes[429] != 100 {
		t.Errorf("the guesses got %v", codes)
	}
}

// A password that was dropped because the queue was full does not count as a guess.
func TestAPasswordThatIsNotCheckedIsNotCharged(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	s := asks(b)
	s.Auth.Users = []farm.AuthUser{{Name: "ali", Hash: "$2a$08$3490AOpmAuvVMlymtWdw5uUCd07YrnE6pwi.ESaVlcuAVT0Zwck3K"}} // as above
	a.Engine.LimitChecks(64)
	addr := a.Serve(func(h *farm.HTTP) { h.Trusted = networks("127.0.0.0/8") }, s)
	const others, guesses = 100, 60 // more than the queue holds; more than the allowed guesses
	for i := range others {
		l7test.Dial(t, addr).Send(request(login(fmt.Sprintf("ali:other%d", i)), fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", 100+i)))
	}
	l7test.Eventually(t, "the queue is full", func() bool { return a.Segment.SumFarm(1).Requests == others })
	var guessing []*l7test.Client
	for i := range guesses {
		guessing = append(guessing, l7test.Dial(t, addr).Send(request(login(fmt.Sprintf("ali:guess%d", i)), "X-Forwarded-For: 192.0.2.1")))
	}
	codes := map[int]int{}
	for _, c := range guessing {
		_ = c.SetDeadline(time.Now().Add(checksTake))
		codes[c.Get().StatusCode]++
	}
	if codes[503] == 0 || codes[429] != 0 {
		t.Errorf("the guesses got %v", codes)
	}
}

// Many users behind one address may log in at the same time.
func TestRightPasswordsAreNoGuesses(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	s := asks(b)
	for i := range 60 {
		s.Auth.Users = append(s.Auth.Users, farm.AuthUser{Name: fmt.Sprintf("user%d", i), Hash: hashes[1]})
	}
	addr := l7test.New(t, 1).Serve(nil, s)
	for i := range 60 {
		c := l7test.Dial(t, addr)
		_ = c.SetDeadline(time.Now().Add(checksTake))
		if code := c.Send(request(login(fmt.Sprintf("user%d:sesame", i)))).Get().StatusCode; code != 200 {
			t.Fatalf("user %d got %d", i, code)
		}
	}
}

func TestANewPasswordHoldsAtOnce(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, asks(b)))
	codes := []int{c.Send(request(login("ali:sesame"))).Get().StatusCode}
	s := asks(b)
	s.Auth.Users[1].Hash = hashes[0]
	a.Serve(nil, s)
	for _, credentials := range []string{"ali:sesame", "ali:other"} {
		codes = append(codes, c.Send(request(login(credentials))).Get().StatusCode)
	}
	s.Auth.Users = s.Auth.Users[:1]
	a.Serve(nil, s)
	if codes = append(codes, c.Send(request(login("ali:other"))).Get().StatusCode); fmt.Sprint(codes) != "[200 401 200 401]" {
		t.Errorf("got %v", codes)
	}
}

func TestOnlyBearersOfAKeyGetIn(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, asksKey(b, "the first key we have", "and the second of them")))
	for lines, want := range map[string]int{
		"X-Api-Key: the first key we have":          200,
		"x-api-key:   and the second of them  ":     200,
		"X-Api-Key: the first key we have and more": 401,
		"X-Api-Key:": 401,
		"X-Other: 1": 401,
		"X-Api-Key: the first key we have\r\nX-Api-Key: and the second of them":   401,
		"X-Api-Key: something else\r\nX-API-KEY: the first key we have":           401,
		"X_Api_Key: the first key we have":                                        401,
		"X-Api-Key: the first key we have\r\n" + login("somebody:and a password"): 200,
	} {
		res := c.Send(request(strings.Split(lines, "\r\n")...)).Get()
		if res.StatusCode != want || (res.Header.Get("WWW-Authenticate") == `Key realm="Restricted"`) != (want == 401) {
			t.Errorf("%q: got %d %v", lines, res.StatusCode, res.Header)
		}
	}
	if got := b.Received(); strings.Contains(got, "key we have") || strings.Contains(got, "second") || !strings.Contains(got, "Authorization") {
		t.Errorf("the backend got %q", got)
	}
}

func TestServicesMayAskForUserAndKeyAndPassThemOn(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	s := asksKey(b, "a key that is long enough")
	s.Auth.Users, s.Auth.Pass = asks(b).Auth.Users, true
	s.Persistence = farm.PersistBasic
	c := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.AddRequest = add("X-In: 1") }, s))
	const key = "X-Api-Key: a key that is long enough"
	for lines, want := range map[string]int{key: 401, login("ali:sesame"): 401, key + "\r\n" + login("ali:sesame"): 200} {
		if res := c.Send(request(strings.Split(lines, "\r\n")...)).Get(); res.StatusCode != want {
			t.Errorf("%q: got %d", lines, res.StatusCode)
		}
	}
	if got := b.Received(); !strings.Contains(got, key) || !strings.Contains(got, login("ali:sesame")) {
		t.Errorf("the backend got %q", got)
	}
	q := explain.Question{Farm: 1, URL: "/", Headers: []string{key, login("ali:sesame")}}
	x, err := a.Engine.Explain(&q)
	if err != nil || x.Result.Outcome != explain.Forward {
		t.Fatalf("%+v, %v", x, err)
	}
	if text := fmt.Sprintf("%+v", x.Head); strings.Contains(text, "long enough") || strings.Contains(text, "Basic") {
		t.Errorf("the explanation tells %s", text)
	}
	told := fmt.Sprintf("%+v", x.Steps)
	q.Headers[1] = login("ali:wrong") // an explanation does not tell whether a password is right
	if x, err = a.Engine.Explain(&q); err != nil || x.Result.Outcome != explain.Forward || fmt.Sprintf("%+v", x.Steps) != told || !strings.Contains(told, "would be checked") {
		t.Errorf("%+v, %+v, %v: want %s", x.Result, x.Steps, err, told)
	}
}
