package proxy_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// patient is a farm whose retry interval grows up to an hour.
func patient(h *farm.HTTP) { h.ResurrectTime = 3600 }

// answering serves HTTP/1.1 and HTTP/2 on a listener.
func answering(t *testing.T, ln net.Listener) {
	s := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") })}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
}

func TestTheFirstRequestAfterAnOutageOfAllIsServed(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(s *farm.Service){
		"HTTP/1":     func(*farm.Service) {},
		"HTTP/2":     func(s *farm.Service) { s.BackendProtocol = farm.BackendHTTP2 },
		"sessions":   func(s *farm.Service) { s.Persistence, s.TTL = farm.PersistIP, 60 },
		"limits":     func(s *farm.Service) { s.Backends[0].ConnLimit, s.Backends[1].ConnLimit = 1, 1 },
		"with queue": func(s *farm.Service) { s.Queue, s.Backends[0].ConnLimit, s.Backends[1].ConnLimit = 4, 1, 1 },
		"priorities": func(s *farm.Service) { s.Backends[1].Priority = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := enginetest.NewSilent(t), enginetest.NewSilent(t)
			a := l7test.New(t, 1)
			s := l7test.Service("web", one.Addr, two.Addr)
			edit(&s)
			addr := a.Serve(patient, s)
			if got := answerTo(t, addr, get("/")).StatusCode; got != 503 || usable(a, 1) || usable(a, 2) {
				t.Fatalf("got %d although all backends are down", got)
			}
			a.Health.SetPassive(2, health.Down, time.Now()) // its next probe is far away
			answering(t, two.Listen())
			time.Sleep(15 * time.Millisecond) // the minimum between attempts by requests, not until the next probe
			if got := answerTo(t, addr, get("/")).StatusCode; got != 200 {
				t.Errorf("the first one after it got %d", got)
			}
			if !usable(a, 2) || usable(a, 1) {
				t.Errorf("usable: %t, %t", usable(a, 1), usable(a, 2))
			}
			l7test.Eventually(t, "that is said", func() bool { return a.Log.Has("backend is up again") })
		})
	}
}

func TestAttemptAtADownBackendIsOneRequestAtATime(t *testing.T) {
	t.Parallel()
	one := enginetest.NewSilent(t)
	a := l7test.New(t, 1)
	addr := a.Serve(patient, l7test.Service("web", one.Addr))
	for range 5 {
		if got := answerTo(t, addr, get("/")).StatusCode; got != 503 {
			t.Fatalf("answered %d", got)
		}
		time.Sleep(15 * time.Millisecond)
	}
	if n := a.Segment.SumBackend(1).ConnectFailures; n < 4 {
		t.Errorf("%d connects for five requests", n)
	}
	// A request immediately after another one does not try.
	before := a.Segment.SumBackend(1).ConnectFailures
	for range 50 {
		answerTo(t, addr, get("/"))
	}
	if n := a.Segment.SumBackend(1).ConnectFailures - before; n >= 50 {
		t.Errorf("each of 50 requests in a row made a connect")
	}
}

// Requests do not try backends disabled by checks or operators.
func TestOnlyBackendsThatCouldNotBeReachedAreTriedByRequests(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(patient, l7test.Service("web", b.Addr))
	a.Health.SetGuardian(1, health.Down, time.Now())
	if got := answerTo(t, addr, get("/")).StatusCode; got != 503 {
		t.Errorf("a backend with failed probes: %d", got)
	}
	a.Health.SetGuardian(1, health.Up, time.Now())
	s := l7test.Service("web", b.Addr)
	s.Backends[0].Maintenance = farm.MaintenanceDrain
	a.Serve(patient, s)
	a.Health.SetPassive(1, health.Down, time.Now())
	if got := answerTo(t, addr, get("/")).StatusCode; got != 503 {
		t.Errorf("a backend in maintenance: %d", got)
	}
}

// A hanging backend delays the request that tries it by a second, not by contimeout.
func TestARequestThatTriesABackendThatIsDownWaitsASecond(t *testing.T) {
	t.Parallel()
	hole := porttest.Full(t).String()
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.ResurrectTime, h.ConnectTimeout = 3600, 30 }, l7test.Service("web", hole))
	a.Health.SetPassive(1, health.Down, time.Now())
	for range 5 { // the machine may be busy for a second
		began := time.Now()
		first := l7test.Dial(t, addr).Send(get("/"))
		l7test.Eventually(t, "it tries", func() bool { return a.Segment.SumBackend(1).Pending == 1 })
		if got := answerTo(t, addr, get("/")).StatusCode; got != 503 {
			t.Errorf("another one got %d", got)
		}
		meanwhile := a.Segment.SumBackend(1).Pending == 1
		if got := first.Get().StatusCode; got != 503 || time.Since(began) < 900*time.Millisecond {
			t.Errorf("it got %d after %v", got, time.Since(began))
		}
		if meanwhile {
			return
		}
	}
	t.Error("another request waits for the result of the first one")
}

func TestAttemptEndsWithItsClient(t *testing.T) {
	t.Parallel()
	hole := porttest.Full(t).String()
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.ResurrectTime, h.ConnectTimeout = 3600, 30 }, l7test.Service("web", hole))
	a.Health.SetPassive(1, health.Down, time.Now())
	pending := func(n uint64) func() bool {
		return func() bool { return a.Segment.SumBackend(1).Pending == n }
	}
	first := l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "it tries", pending(1))
	a.Farm.HTTP.Services[0].Backends[0].Maintenance = farm.MaintenanceCut // ends exchanges in progress
	a.Serve(nil, a.Farm.HTTP.Services...)
	l7test.Eventually(t, "it is over", pending(0))
	_ = first.Close()
	a.Farm.HTTP.Services[0].Backends[0].Maintenance = farm.MaintenanceOff
	a.Serve(nil, a.Farm.HTTP.Services...)
	a.Health.SetPassive(1, health.Down, time.Now())
	time.Sleep(15 * time.Millisecond)
	l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "the next one tries", pending(1))
}
