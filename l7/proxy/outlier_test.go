package proxy_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// ejecting is a service that ejects after that many failures.
func ejecting(errors uint8, seconds farm.Seconds, addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.OutlierErrors, s.OutlierTime = errors, seconds
	return s
}

func isEjected(a *l7test.Appliance, id uint32) bool { return a.Health.Slot(id).Ejected() }

// exchangesWith makes n exchanges, each on its own connection.
func exchangesWith(t *testing.T, addr string, n int) (by map[int]int) {
	t.Helper()
	by = map[int]int{}
	for range n {
		by[answerTo(t, addr, get("/")).StatusCode]++
	}
	return by
}

func TestBackendThatFailsInARowIsEjectedForAWhile(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(c *l7test.Recorder){
		"status":  l7test.Answer(sorry),
		"reset":   func(c *l7test.Recorder) { _, _ = c.Head() },
		"timeout": func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, c) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := l7test.NewBackend(t, script), l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 2)
			addr := a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, ejecting(2, 2, bad.Addr, good.Addr))
			if by := exchangesWith(t, addr, 4); by[200] != 2 || !isEjected(a, 1) {
				t.Fatalf("answers %v, ejected %v", by, isEjected(a, 1))
			}
			a.Health.SetPassive(1, health.Down, time.Now())
			a.Health.SetPassive(1, health.Up, time.Now()) // the most the prober can do
			if by := exchangesWith(t, addr, 8); by[200] != 8 || a.Segment.SumBackend(1).Ejections != 1 {
				t.Errorf("answers %v, %d ejections", by, a.Segment.SumBackend(1).Ejections)
			}
			l7test.Eventually(t, "it is back", func() bool { return !isEjected(a, 1) })
			e, _ := a.Health.Slot(1).Ejection()
			if by := exchangesWith(t, addr, 4); by[200] != 2 || !isEjected(a, 1) {
				t.Errorf("answers after that %v, ejected %v", by, isEjected(a, 1))
			}
			if again, _ := a.Health.Slot(1).Ejection(); again.Times != 2 || again.Until.Sub(again.Since) != 4*time.Second || !again.Since.After(e.Until.Add(-time.Second)) {
				t.Errorf("the second time: %+v", again)
			}
			if log := a.Log.String(); strings.Count(log, "backend is ejected") != 2 || strings.Count(log, "no longer ejected") != 1 || !strings.Contains(log, "2 failures in a row") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

func TestASuccessEndsTheRow(t *testing.T) {
	t.Parallel()
	n := 0
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			if n++; n%3 == 0 {
				c.Say(ok)
			} else {
				c.Say(sorry)
			}
		}
	})
	good := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, ejecting(3, 1, b.Addr, good.Addr)))
	for range 40 {
		c.Send(get("/")).Get()
	}
	if isEjected(a, 1) || a.Segment.SumBackend(1).Ejections != 0 {
		t.Error("ejected after two failures in a row, not three")
	}
}

func TestEjectionsStayBelowTheirLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		backends int
		percent  uint8
		want     int
	}{{1, 100, 0}, {2, 0, 1}, {4, 0, 2}, {4, 100, 3}, {4, 20, 0}} {
		var addrs []string
		for range c.backends {
			addrs = append(addrs, l7test.NewBackend(t, l7test.Answer(sorry)).Addr)
		}
		a := l7test.New(t, 2)
		s := ejecting(1, 60, addrs...)
		s.OutlierPercent = c.percent
		if by := exchangesWith(t, a.Serve(nil, s), 40); by[503] != 40 || a.Segment.SumFarm(1).NoBackend != 0 {
			t.Errorf("answers %v", by)
		}
		out := 0
		for id := range c.backends {
			if isEjected(a, uint32(id+1)) {
				out++
			}
		}
		if out != c.want {
			t.Errorf("%d %% of %d: %d are ejected, want %d", c.percent, c.backends, out, c.want)
		}
	}
}

func TestEjectedBackendOpensTheNextPriority(t *testing.T) {
	t.Parallel()
	bad, spare := l7test.NewBackend(t, l7test.Answer(sorry)), l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	s := ejecting(2, 60, bad.Addr, spare.Addr)
	s.Backends[1].Priority = 2
	if by := exchangesWith(t, a.Serve(nil, s), 6); by[503] != 2 || by[200] != 4 {
		t.Errorf("answers %v", by)
	}
}

func TestEjectedBackendComesBackEarlyWhen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *l7test.Appliance, s farm.Service){
		"no other is left": func(a *l7test.Appliance, _ farm.Service) { a.Health.SetGuardian(2, health.Down, time.Now()) },
		"others are taken out": func(a *l7test.Appliance, s farm.Service) {
			s.Backends[1].Maintenance = farm.MaintenanceDrain
			a.Serve(nil, s)
		},
		"none are ejected": func(a *l7test.Appliance, s farm.Service) { s.Outlier = farm.Outlier{}; a.Serve(nil, s) },
		"the farm is stopped": func(a *l7test.Appliance, _ farm.Service) {
			a.Farm.Stopped = true
			a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := l7test.NewBackend(t, l7test.Answer(sorry)), l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 1)
			s := ejecting(1, 60, bad.Addr, good.Addr)
			exchangesWith(t, a.Serve(nil, s), 2)
			if !isEjected(a, 1) {
				t.Fatal("not ejected")
			}
			change(a, s)
			l7test.Eventually(t, "it is back", func() bool { return !isEjected(a, 1) })
		})
	}
}

func TestEjectionsOutliveTheEngine(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	bad, good := l7test.NewBackend(t, l7test.Answer(sorry)), l7test.NewBackend(t, l7test.Answer(ok))
	a.Health.Adopt(1, 1)
	a.Health.Eject(1, health.CauseStatus, time.Now(), time.Second)
	addr := a.Serve(nil, ejecting(1, 1, bad.Addr, good.Addr))
	if by := exchangesWith(t, addr, 4); by[200] != 4 {
		t.Errorf("answers %v", by)
	}
	l7test.Eventually(t, "it is back", func() bool { return !isEjected(a, 1) })
}

// Unsupported requests of a client are not failures of the backend.
func TestUnsupportedRequestsAreNoFailures(t *testing.T) {
	t.Parallel()
	for status, failures := range map[string]uint64{"500 Internal Server Error": 1, "501 Not Implemented": 0, "502 Bad Gateway": 1, "504 Gateway Timeout": 1, "505 HTTP Version Not Supported": 0, "506 Variant Also Negotiates": 1} {
		bad := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n"))
		good := l7test.NewBackend(t, l7test.Answer(ok))
		a := l7test.New(t, 1)
		exchangesWith(t, a.Serve(nil, ejecting(1, 60, bad.Addr, good.Addr)), 2)
		if got := a.Segment.SumBackend(1).Failures; got != failures || isEjected(a, 1) != (failures > 0) {
			t.Errorf("%s: %d failures, ejected %t", status, got, isEjected(a, 1))
		}
	}
}
