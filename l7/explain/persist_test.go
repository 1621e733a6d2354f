package explain_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/table"
)

func TestExplanationShowsPersistence(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "0"), l7test.NewNamed(t, "1")
	s := l7test.Sticky(60, one.Addr, two.Addr)
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	if p := explained(t, a, "/").Persistence; p.Key != "" || p.Found || !strings.Contains(p.Reason, "nothing the client is recognised by") {
		t.Errorf("without a cookie: %+v", p)
	}
	e := explained(t, a, "/", "Cookie: SID=me")
	if p := e.Persistence; !strings.HasPrefix(p.Key, "sha256:") || p.Found || p.Reason != fmt.Sprintf("no session: one with backend %d would be made", *e.Result.Backend) {
		t.Errorf("the first time: %+v", p)
	}
	if total, _ := a.Engine.SessionsOf(1).List(1); total != 0 {
		t.Errorf("to ask made %d sessions", total)
	}
	first := l7test.Come(t, addr, "me")
	e = explained(t, a, "/", "Cookie: SID=me")
	if p := e.Persistence; !p.Found || p.Static || fmt.Sprint(*p.Backend) != first || e.Result.Decision != "session" || fmt.Sprint(*e.Result.Backend) != first {
		t.Errorf("the second time: %+v, %+v", p, e.Result)
	}
	if other := e.Balance.Backends[1-*e.Result.Backend]; other.Reason != "not asked: the session names another" {
		t.Errorf("the other backend: %+v", other)
	}
	a.Health.SetGuardian(uint32(*e.Result.Backend+1), health.Down, time.Now())
	if e = explained(t, a, "/", "Cookie: SID=me"); e.Result.Decision != "algorithm" || !strings.HasSuffix(e.Persistence.Reason, "of the session cannot be used: it is down") {
		t.Errorf("it is down: %+v, %+v", e.Persistence, e.Result)
	}
	s.Cookie, s.Persistence = &farm.CookieInsert{Name: "LB"}, farm.PersistNone
	a.Serve(nil, s)
	mine := *e.Result.Backend
	if e = explained(t, a, "/", "Cookie: LB="+table.CookieValue(1, uint32(mine+1))); e.Result.Decision != "cookie" || *e.Cookie.Backend != mine || *e.Result.Backend != mine {
		t.Errorf("by cookie: %+v, %+v", e.Cookie, e.Result)
	}
	if e = explained(t, a, "/"); !strings.HasSuffix(e.Cookie.Reason, fmt.Sprintf("the response would set one for backend %d (Path=/; HttpOnly; SameSite=Lax)", mine)) {
		t.Errorf("without a cookie: %+v", e.Cookie)
	}
	if e = explained(t, a, "/", "Cookie: LB="+table.CookieValue(1, uint32(2-mine))); e.Result.Decision != "algorithm" || !strings.HasSuffix(e.Cookie.Reason, "cannot be used: it is down") {
		t.Errorf("cookie of the other backend: %+v, %+v", e.Cookie, e.Result)
	}
	s.Cookie, s.Persistence = nil, farm.PersistBasic
	a.Serve(nil, s)
	e = explained(t, a, "/", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("someone:secret")))
	if text := fmt.Sprintf("%+v %+v", e, e.Persistence); strings.Contains(text, "someone") || !strings.HasPrefix(e.Persistence.Key, "sha256:") {
		t.Errorf("a user is shown: %s", text)
	}
}

// Backends are named by their API numbers, regardless of their position.
func TestExplanationsNameBackendsByNumber(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "0"), l7test.NewNamed(t, "1")
	s := l7test.Sticky(60, one.Addr, two.Addr)
	s.Backends[0].Slot, s.Backends[1].Slot = 5, 9
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	number := map[string]int{"0": 4, "1": 8}[l7test.Come(t, addr, "me")]
	e := explained(t, a, "/", "Cookie: SID=me")
	if ids := []int{e.Balance.Backends[0].ID, e.Balance.Backends[1].ID}; !slices.Equal(ids, []int{4, 8}) || *e.Result.Backend != number || *e.Persistence.Backend != number {
		t.Errorf("backends %v, chosen %d, of the session %d; want %d", ids, *e.Result.Backend, *e.Persistence.Backend, number)
	}
	s.Cookie, s.Persistence = &farm.CookieInsert{Name: "LB"}, farm.PersistNone
	a.Serve(nil, s)
	if e = explained(t, a, "/"); !strings.Contains(e.Cookie.Reason, fmt.Sprintf("one for backend %d", *e.Result.Backend)) || *e.Result.Backend < 4 {
		t.Errorf("a new client: %+v, %+v", e.Cookie, e.Result)
	}
	if e = explained(t, a, "/", "Cookie: LB="+table.CookieValue(1, s.Backends[1].ID)); *e.Cookie.Backend != 8 || *e.Result.Backend != 8 {
		t.Errorf("by cookie: %+v, %+v", e.Cookie, e.Result)
	}
}

// Reasons why the client's backend cannot serve.
func TestExplanationNamesWhyASessionIsNotHonoured(t *testing.T) {
	t.Parallel()
	silent := func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, c) }
	one, two := l7test.NewBackend(t, silent), l7test.NewBackend(t, silent)
	for want, spoil := range map[string]func(a *l7test.Appliance, b *farm.Backend){
		"it is down": func(a *l7test.Appliance, b *farm.Backend) { a.Health.SetGuardian(b.ID, health.Down, time.Now()) },
		"it is ejected": func(a *l7test.Appliance, b *farm.Backend) {
			a.Health.Eject(b.ID, health.CauseTimeout, time.Now(), time.Minute)
		},
		"it is cut":          func(_ *l7test.Appliance, b *farm.Backend) { b.Maintenance = farm.MaintenanceCut },
		"it is at its limit": func(_ *l7test.Appliance, b *farm.Backend) { b.ConnLimit = 1 },
	} {
		a := l7test.New(t, 1)
		s := l7test.Sticky(60, one.Addr, two.Addr)
		s.Backends[0].Sessions = []string{"me"}
		addr := a.Serve(nil, s)
		if p := explained(t, a, "/", "Cookie: SID=me").Persistence; !p.Static || *p.Backend != 0 || p.Reason != "the session names the backend" {
			t.Fatalf("%+v", p)
		}
		spoil(a, &s.Backends[0])
		a.Serve(nil, s)
		if s.Backends[0].ConnLimit == 1 {
			l7test.Dial(t, addr).Send("POST / HTTP/1.1\r\nHost: a\r\nCookie: SID=me\r\nContent-Length: 9\r\n\r\n")
			l7test.Eventually(t, "it is busy", func() bool { return explained(t, a, "/").Balance.Backends[0].InFlight == 1 })
		}
		e := explained(t, a, "/", "Cookie: SID=me")
		if p := e.Persistence; !p.Found || !strings.HasSuffix(p.Reason, want) || e.Result.Decision != "algorithm" {
			t.Errorf("%s: %+v, %+v", want, p, e.Result)
		}
	}
}

func TestSecretSessionKeysAreHashed(t *testing.T) {
	t.Parallel()
	for kind, shown := range map[farm.Persistence]string{farm.PersistIP: "127.0.0.1", farm.PersistURL: "key", farm.PersistParm: "key", farm.PersistCookie: "", farm.PersistHeader: "", farm.PersistBasic: ""} {
		s := l7test.Sticky(60, "127.0.0.1:1")
		s.Persistence = kind
		a := l7test.New(t, 1)
		a.Serve(nil, s)
		p := explained(t, a, "/;key?SID=key", "Cookie: SID=key", "SID: key", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("key:x"))).Persistence
		if shown != "" && p.Key != shown || shown == "" && (!strings.HasPrefix(p.Key, "sha256:") || len(p.Key) != len("sha256:")+12) {
			t.Errorf("%s: the key is shown as %q", kind, p.Key)
		}
	}
}

// staying returns the script of a backend that answers requests of /stay, which it passes to
// came, only after stay.
func staying(came, stay chan bool) func(*l7test.Recorder) {
	return func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			if strings.HasPrefix(head, "GET /stay") {
				came <- true
				<-stay
			}
			c.Say(l7test.OK)
		}
	}
}

// A client whose backend has no room waits for it, gets another one if it cannot, and keeps
// its session.
func TestFullSessionBackendIsExplained(t *testing.T) {
	t.Parallel()
	came, stay := make(chan bool), make(chan bool)
	script := staying(came, stay)
	s := l7test.Sticky(60, l7test.NewBackend(t, script).Addr, l7test.NewBackend(t, script).Addr)
	s.Backends[0].ConnLimit, s.Backends[1].ConnLimit = 1, 1
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	l7test.Dial(t, addr).Send(l7test.Request("Cookie: SID=me")).Get()
	var own int
	l7test.Eventually(t, "the own backend has room again", func() bool {
		r := explained(t, a, "/", "Cookie: SID=me").Result
		own = *r.Backend
		return r.Decision == "session"
	})
	l7test.Dial(t, addr).Send(strings.Replace(l7test.Request("Cookie: SID=me"), "/ ", "/stay ", 1))
	<-came
	e := explained(t, a, "/", "Cookie: SID=me")
	if r := e.Result; r.Backend == nil || *r.Backend == own || r.Decision != "algorithm" || !strings.HasSuffix(e.Persistence.Reason, "it is at its limit") {
		t.Errorf("without a queue: %+v, %+v", r, e.Persistence)
	}
	s.Queue = 1
	a.Serve(nil, s)
	e = explained(t, a, "/", "Cookie: SID=me")
	if r := e.Result; r.Outcome != "wait" || !strings.HasPrefix(r.Reason, fmt.Sprintf("backend %d of the client has no room: it would wait", own)) {
		t.Errorf("with a queue: %+v", r)
	}
	waits := l7test.Dial(t, addr).Send(l7test.Request("Cookie: SID=me"))
	l7test.Queued(t, a, 1)
	if r := explained(t, a, "/", "Cookie: SID=me").Result; r.Backend == nil || *r.Backend == own {
		t.Errorf("with a full queue: %+v", r)
	}
	stay <- true
	waits.Get()
	l7test.Eventually(t, "the session leads to its backend", func() bool {
		r := explained(t, a, "/", "Cookie: SID=me").Result
		return r.Backend != nil && *r.Backend == own && r.Decision == "session"
	})
}

// As long as its own backend has room, a client passes the clients that wait for any backend. If
// the queue of that backend is full, it waits with them.
func TestSessionClientPassesTheQueueInExplanations(t *testing.T) {
	t.Parallel()
	came, stay := make(chan bool, 9), make(chan bool, 9)
	script := staying(came, stay)
	s := l7test.Sticky(60, l7test.NewBackend(t, script).Addr, l7test.NewBackend(t, script).Addr)
	s.Queue, s.QueueTimeout, s.Backends[0].ConnLimit, s.Backends[1].ConnLimit = 2, 600, 1, 1
	s.Backends[0].Sessions, s.Backends[0].Maintenance = []string{"me"}, farm.MaintenanceDrain
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	send := func(path, who string) *l7test.Client {
		return l7test.Dial(t, addr).Send(strings.Replace(l7test.Request("Cookie: SID="+who), "/ ", path+" ", 1))
	}
	explains := func(when string, outcome, result, session string) {
		t.Helper()
		e := explained(t, a, "/", "Cookie: SID=me")
		if e.Result.Outcome != outcome || !strings.Contains(e.Result.Reason, result) || e.Persistence.Reason != session {
			t.Errorf("%s: %+v, %+v", when, e.Result, e.Persistence)
		}
	}
	clients := []*l7test.Client{send("/stay", "a")}
	<-came
	clients = append(clients, send("/", "b"))
	l7test.Queued(t, a, 1)
	explains("with room", "forward", "the client's session names it", "the session names the backend")
	if res := send("/", "me").Get(); res.StatusCode != 200 {
		t.Errorf("the client got %d, want 200", res.StatusCode)
	}
	l7test.Queued(t, a, 1)
	clients = append(clients, send("/stay", "me"))
	<-came
	explains("without room", "wait", "backend 0 of the client has no room: it would wait 600 seconds at most, with 0 ahead of it in a queue for 2", "backend 0 of the session cannot be used: it is at its limit")
	for i := range 2 {
		clients = append(clients, send("/", "me"))
		l7test.Queued(t, a, uint64(2+i))
	}
	explains("its queue is full", "wait", "no backend has room: it would wait 600 seconds at most, with 1 ahead of it in a queue for 2", "backend 0 of the session cannot be used: it is at its limit")
	clients = append(clients, send("/", "me"))
	l7test.Queued(t, a, 4)
	explains("both queues are full", "refuse", "no backend has room, and the queue is full: 2 wait", "backend 0 of the session cannot be used: it is at its limit")
	if res := send("/", "me").Get(); res.StatusCode != 503 {
		t.Errorf("beyond both queues: got %d, want 503", res.StatusCode)
	}
	stay <- true
	stay <- true
	for _, c := range clients {
		if res := c.Get(); res.StatusCode != 200 {
			t.Errorf("answered %d, want 200", res.StatusCode)
		}
	}
}
