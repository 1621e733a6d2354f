package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/proxy"
)

var named, sticky, come = l7test.NewNamed, l7test.Sticky, l7test.Come

func listed(e *proxy.Engine, service uint32, limit int) (total int, list []session.Shown) {
	total, list = e.SessionsOf(service).List(limit)
	slices.SortFunc(list, func(a, b session.Shown) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return total, list
}

func TestSessionsShowTheirBackendAndTheTimeLeft(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 2)
	addr := a.Serve(nil, sticky(60, one.Addr, two.Addr))
	who := map[string]string{}
	for i := range 6 {
		cookie := fmt.Sprintf("client-%d", i)
		who[cookie] = come(t, addr, cookie)
	}
	come(t, addr, "") // without a key
	total, list := listed(a.Engine, 1, 10)
	if total != 6 || len(list) != 6 {
		t.Fatalf("%d sessions, %d listed", total, len(list))
	}
	for i, s := range list {
		if want := fmt.Sprintf("client-%d", i); string(s.Key) != want || fmt.Sprint(s.Backend) != who[want] {
			t.Errorf("session %d: %q on backend %d, want %q on %s", i, s.Key, s.Backend, want, who[want])
		}
		if s.TTL > time.Minute || s.TTL < 45*time.Second {
			t.Errorf("session %d lives for %v more", i, s.TTL)
		}
	}
	for _, limit := range []int{0, 2} {
		if total, list := a.Engine.SessionsOf(1).List(limit); total != 6 || len(list) != limit {
			t.Errorf("limit %d: %d sessions, %d listed", limit, total, len(list))
		}
	}
	if total, list := a.Engine.SessionsOf(99).List(10); total != 0 || list != nil {
		t.Errorf("of no service: %d, %v", total, list)
	}
}

func TestSessionsThatAreOverAreLeftOut(t *testing.T) {
	t.Parallel()
	b := named(t, "1")
	a := l7test.New(t, 1)
	addr := a.Serve(nil, sticky(2, b.Addr))
	come(t, addr, "early")
	l7test.Eventually(t, "the older one ends", func() bool {
		come(t, addr, "late")
		total, list := a.Engine.SessionsOf(1).List(10)
		return total == 1 && len(list) == 1 && string(list[0].Key) == "late"
	})
	l7test.Eventually(t, "the other one ends", func() bool {
		total, list := a.Engine.SessionsOf(1).List(10)
		return total == 0 && len(list) == 0
	})
}

func TestSessionsOfBackendsThatAreGoneOrCutAreLeftOut(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 1)
	s := sticky(60, one.Addr, two.Addr)
	addr := a.Serve(nil, s)
	came := map[string]int{}
	for i := range 10 {
		came[come(t, addr, fmt.Sprint("client-", i))]++
	}
	want := func(what string, n int) {
		t.Helper()
		if total, list := a.Engine.SessionsOf(1).List(100); total != n || len(list) != n {
			t.Errorf("%s: %d sessions, %d listed, want %d", what, total, len(list), n)
		}
	}
	s.Backends[0].Maintenance = farm.MaintenanceDrain
	a.Serve(nil, s)
	want("drained", 10)
	s.Backends[0].Maintenance = farm.MaintenanceCut
	a.Serve(nil, s)
	want("cut", came["2"])
	s.Backends = s.Backends[1:]
	a.Serve(nil, s)
	want("gone", came["2"])
	s.Persistence, s.SessionID = farm.PersistNone, ""
	a.Serve(nil, s)
	want("without persistence", 0)
	a.Farm.Stopped = true
	a.Serve(nil, s)
	want("stopped", 0)
}

// Counting is concurrent with exchanges and table changes.
func TestSessionsAreCountedBesideTraffic(t *testing.T) {
	t.Parallel()
	b := named(t, "1")
	a := l7test.New(t, 2)
	s := sticky(60, b.Addr)
	addr := a.Serve(nil, s)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		last := 0
		for {
			total, list := a.Engine.SessionsOf(1).List(1000)
			if total < last || len(list) != total {
				t.Errorf("%d sessions after %d, %d listed", total, last, len(list))
			}
			last = total
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 100 {
		come(t, addr, fmt.Sprint("client-", i))
		if i%20 == 0 {
			a.Serve(nil, s)
		}
	}
	close(done)
	wg.Wait()
	if total, _ := a.Engine.SessionsOf(1).List(0); total != 100 {
		t.Errorf("%d sessions", total)
	}
}

func TestStaticSessionsLiveUntilTheyAreDeleted(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 2)
	s := sticky(1, one.Addr, two.Addr)
	s.Backends[0].Sessions, s.Backends[1].Sessions = []string{"fixed too"}, []string{"fixed"}
	addr := a.Serve(nil, s)
	for range 4 {
		if come(t, addr, "fixed") != "2" || come(t, addr, "fixed too") != "1" {
			t.Fatal("a static session is not honoured")
		}
	}
	come(t, addr, "passing")
	if found, ok := a.Engine.SessionsOf(1).Find([]byte("passing")); !ok || found.Static || found.TTL > time.Second {
		t.Errorf("found %+v, %v", found, ok)
	}
	l7test.Eventually(t, "the dynamic session ends", func() bool { _, ok := a.Engine.SessionsOf(1).Find([]byte("passing")); return !ok })
	if total, list := a.Engine.SessionsOf(1).List(1); total != 2 || len(list) != 1 || string(list[0].Key) != "fixed too" || !list[0].Static || list[0].TTL != 0 || list[0].Backend != 1 {
		t.Errorf("%d sessions: %v", total, list)
	}
	// Its backend is out for a while. Others serve, and the session stays.
	s.Backends[1].Maintenance = farm.MaintenanceCut
	a.Serve(nil, s)
	if got := come(t, addr, "fixed"); got != "1" {
		t.Errorf("a cut backend serves: %s", got)
	}
	s.Backends[1].Maintenance = farm.MaintenanceOff
	a.Serve(nil, s)
	if got := come(t, addr, "fixed"); got != "2" {
		t.Errorf("after maintenance the session leads to %s", got)
	}
	come(t, addr, "passing")
	if n, err := a.Engine.SessionsOf(1).Flush(); n != 1 || err != nil {
		t.Errorf("%d sessions were flushed, %v", n, err)
	}
	if was, err := a.Engine.SessionsOf(1).Forget([]byte("fixed")); was || err != nil {
		t.Error("a static session was deleted:", err)
	}
	// Moved to the other backend; the previous one is no longer static.
	s.Backends[0].Sessions, s.Backends[1].Sessions = []string{"fixed"}, nil
	a.Serve(nil, s)
	if got := come(t, addr, "fixed"); got != "1" {
		t.Errorf("after the move it leads to %s", got)
	}
	if found, ok := a.Engine.SessionsOf(1).Find([]byte("fixed too")); ok {
		t.Errorf("deleted, and still there: %+v", found)
	}
	// Deleting a backend removes its sessions; a stopped farm keeps them.
	a.Farm.Stopped = true
	a.Serve(nil, s)
	a.Farm.Stopped = false
	addr = a.Serve(nil, s)
	if got := come(t, addr, "fixed"); got != "1" {
		t.Errorf("after a stop it leads to %s", got)
	}
	s.Backends = s.Backends[1:]
	a.Serve(nil, s)
	if total, _ := a.Engine.SessionsOf(1).List(10); total != 0 {
		t.Errorf("%d sessions of a backend that is gone", total)
	}
	if _, err := a.Engine.SessionsOf(9).Flush(); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("of no service: %v", err)
	}
	s.Persistence, s.SessionID = farm.PersistNone, ""
	a.Serve(nil, s)
	if _, err := a.Engine.SessionsOf(1).Flush(); err == nil || !strings.Contains(err.Error(), "persistence") {
		t.Errorf("without persistence: %v", err)
	}
}

func TestSessionsThatAreLearnedAreAsIfClientsHadCome(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 2)
	s := sticky(30, one.Addr, two.Addr)
	s.Backends[0].Maintenance = farm.MaintenanceCut
	addr := a.Serve(nil, s)
	if n, err := a.Engine.SessionsOf(1).Learn([]session.Shown{
		{Key: []byte("ann"), Backend: 2, TTL: 9 * time.Second}, {Key: []byte("ann"), Backend: 2, TTL: time.Second}, // known at that time
		{Key: []byte("cut"), Backend: 1, TTL: time.Second}, {Key: []byte("gone"), Backend: 77, TTL: time.Second}, {Key: []byte("fixed"), Backend: 2, Static: true},
	}); n != 1 || err != nil {
		t.Errorf("%d were learned, %v", n, err)
	}
	if found, ok := a.Engine.SessionsOf(1).Find([]byte("ann")); !ok || found.Static || found.Backend != 2 || found.TTL > 9*time.Second || found.TTL < 8*time.Second {
		t.Errorf("found %+v, %v", found, ok)
	}
	for range 4 {
		if got := come(t, addr, "ann"); got != "2" {
			t.Fatalf("a session that was learned leads to %s", got)
		}
	}
	if found, _ := a.Engine.SessionsOf(1).Find([]byte("ann")); found.TTL < 29*time.Second {
		t.Errorf("used, and it lives %v", found.TTL)
	}
	if _, err := a.Engine.SessionsOf(9).Learn(nil); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("of no service: %v", err)
	}
}

// Keys of another kind are meaningless. The old sessions are removed, but only once the
// change is in force.
func TestSessionsBeginAnewWithAnotherKey(t *testing.T) {
	t.Parallel()
	b := named(t, "1")
	a := l7test.New(t, 1)
	s := sticky(60, b.Addr)
	addr := a.Serve(nil, s)
	come(t, addr, "joe")
	want := func(what string, n int) {
		t.Helper()
		if total, _ := a.Engine.SessionsOf(1).List(0); total != n {
			t.Errorf("%s: %d sessions, want %d", what, total, n)
		}
	}
	a.Serve(nil, s)
	want("the same", 1)
	s.SessionID = "OTHER"
	a.Serve(nil, s)
	want("another cookie", 0)
	s.SessionID = "SID"
	a.Serve(nil, s)
	want("the first cookie again", 0)
	come(t, addr, "joe")
	s.Persistence, s.SessionID = farm.PersistIP, ""
	a.Serve(nil, s)
	want("another kind", 0)
}

// Tokens such as JWTs begin alike. Only a digest of the whole distinguishes them.
func TestLongKeysThatBeginAlikeAreOtherSessions(t *testing.T) {
	t.Parallel()
	start := strings.Repeat("x", 300)
	for _, kind := range []farm.Persistence{farm.PersistHeader, farm.PersistCookie} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			one, two := named(t, "1"), named(t, "2")
			s := sticky(60, one.Addr, two.Addr)
			s.Persistence = kind
			static := string(session.AppendKey(nil, []byte(start+"fixed")))
			s.Backends[0].Sessions = []string{static}
			a := l7test.New(t, 1)
			addr := a.Serve(nil, s)
			ask := func(token string) string {
				return l7test.Dial(t, addr).Send(l7test.Request("SID: "+token, "Cookie: SID="+token)).Get().Text
			}
			came := map[string]string{}
			for i := range 6 {
				token := fmt.Sprint(start, i)
				came[token] = ask(token)
			}
			for token, want := range came {
				if got := ask(token); got != want {
					t.Errorf("%s went from %s to %s", token[300:], want, got)
				}
			}
			if n, _ := a.Engine.SessionsOf(1).List(0); n != 7 || ask(start+"fixed") != "1" {
				t.Errorf("%d sessions", n)
			}
			for range 3 {
				if got := ask(start + "fixed"); got != "1" {
					t.Errorf("a static session leads to %s", got)
				}
			}
		})
	}
}

// A response opens a session with a long key, and the next request finds it.
func TestLongKeysInResponsesAreThoseOfRequests(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("x", 400)
	opens := func(name string) string {
		return l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nSet-Cookie: SID="+token+name+"\r\nContent-Length: 1\r\n\r\n"+name)).Addr
	}
	addr := l7test.New(t, 1).Serve(nil, sticky(60, opens("1"), opens("2")))
	for range 4 {
		want := l7test.Dial(t, addr).Send(l7test.Get("/")).Get().Text
		for range 3 {
			if got := come(t, addr, token+want); got != want {
				t.Errorf("the session of %s leads to %s", want, got)
			}
		}
	}
}

// A trusted proxy names the client.
func TestClientsBehindATrustedProxyAreDistinguished(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		one, two := named(t, "1"), named(t, "2")
		s := sticky(60, one.Addr, two.Addr)
		s.Persistence, s.SessionID = farm.PersistIP, ""
		a := l7test.New(t, 1)
		edit := func(h *farm.HTTP) {
			if trusted {
				h.Trusted = l7test.Networks("127.0.0.0/8")
			}
		}
		addr := a.Serve(edit, s)
		ask := func(n int) string {
			return l7test.Dial(t, addr).Send(l7test.Request(fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", n))).Get().Text
		}
		first := []string{ask(0), ask(1), ask(2), ask(3)}
		for i, want := range first {
			if got := ask(i); got != want {
				t.Errorf("client %d went from %s to %s", i, want, got)
			}
		}
		if n, _ := a.Engine.SessionsOf(1).List(0); trusted && n != 4 || !trusted && n != 1 {
			t.Errorf("trusted %t: %d sessions", trusted, n)
		}
		if _, ok := a.Engine.SessionsOf(1).Find([]byte("192.0.2.3")); ok != trusted {
			t.Errorf("trusted %t: the session is there: %t", trusted, ok)
		}
		if got := one.Field("X-Forwarded-For") + two.Field("X-Forwarded-For"); trusted && strings.Count(got, ", 127.0.0.1") != 2 {
			t.Errorf("backends get %q", got)
		}
		s.Persistence, s.Policy = farm.PersistNone, farm.PolicyConsistentHash
		addr = a.Serve(edit, s)
		came := map[string]bool{}
		for i := range 40 {
			came[ask(i)] = true
		}
		if want := 1 + map[bool]int{true: 1}[trusted]; len(came) != want {
			t.Errorf("trusted %t: clients come to %d backends by hash", trusted, len(came))
		}
	}
}
