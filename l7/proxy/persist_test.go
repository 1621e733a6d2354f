package proxy_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestCutForgetsTheSessionsAndDrainKeepsThem(t *testing.T) {
	t.Parallel()
	one := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"))
	two := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"))
	s := l7test.Service("web", one.Addr, two.Addr)
	s.Persistence, s.SessionID, s.TTL = farm.PersistHeader, "X-Client", 60
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	ask := func() string {
		return l7test.Dial(t, addr).Send("GET / HTTP/1.1\r\nHost: a.test\r\nX-Client: me\r\n\r\n").Get().Text
	}
	first := ask()
	mine := map[string]int{"one": 0, "two": 1}[first]
	for range 4 {
		if got := ask(); got != first {
			t.Fatalf("the session went from %s to %s", first, got)
		}
	}
	s.Backends[mine].Maintenance = farm.MaintenanceDrain
	a.Serve(nil, s)
	if got := ask(); got != first {
		t.Fatalf("drain moved the session to %s", got)
	}
	s.Backends[mine].Maintenance = farm.MaintenanceCut
	a.Serve(nil, s)
	other := ask()
	if other == first {
		t.Fatal("a cut backend still got the session")
	}
	s.Backends[mine].Maintenance = farm.MaintenanceOff
	a.Serve(nil, s)
	if got := ask(); got != other {
		t.Fatalf("the session returned to %s: cut did not remove it", got)
	}
}

func TestABackendCutWhileItsFarmIsStoppedHasNoSessions(t *testing.T) {
	t.Parallel()
	one := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"))
	s := l7test.Service("web", one.Addr)
	s.Persistence, s.SessionID, s.TTL = farm.PersistHeader, "X-Client", 60
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	l7test.Dial(t, addr).Send("GET / HTTP/1.1\r\nHost: a.test\r\nX-Client: me\r\n\r\n").Get()
	sessions := func(mode farm.Maintenance) int {
		for _, step := range []struct {
			stopped bool
			mode    farm.Maintenance
		}{{true, farm.MaintenanceOff}, {true, mode}, {true, farm.MaintenanceOff}, {false, farm.MaintenanceOff}} {
			f := a.Farm.Clone()
			f.Stopped, f.HTTP.Services[0].Backends[0].Maintenance = step.stopped, step.mode
			a.Publish(farm.Config{Farms: []farm.Farm{f}})
		}
		n, _ := a.Engine.SessionsOf(a.Farm.HTTP.Services[0].ID).List(10)
		return n
	}
	if n := sessions(farm.MaintenanceDrain); n != 1 {
		t.Fatalf("draining left %d sessions", n)
	}
	if n := sessions(farm.MaintenanceCut); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A client that invents a key for each request evicts its own earlier keys, and spares the
// keys of returning clients.
func TestInventedKeysCostOthersNoSession(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 1)
	s := l7test.Service("web", one.Addr, two.Addr)
	s.Persistence, s.SessionID, s.TTL = farm.PersistCookie, "SID", 60
	a.Engine.LimitSessions(&s, 16)
	addr := a.Serve(nil, s)
	client := l7test.Dial(t, addr)
	visit := func(id string) string { return client.Send(request("Cookie: SID=" + id)).Get().Text }
	at := visit("mine")
	visit("mine")
	for i := range 200 {
		visit(fmt.Sprint("invented", i))
	}
	for range 4 {
		if now := visit("mine"); now != at {
			t.Fatalf("the client is at %s, it was at %s", now, at)
		}
	}
	if n := a.Segment.SumFarm(1).Forgotten; n != 201-16 {
		t.Errorf("%d forgotten sessions are counted, want %d", n, 201-16)
	}
}
