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

// comparing is a service that compares its backends every second, from ten requests on.
func comparing(rate, slow uint8, addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.Outlier = farm.Outlier{OutlierRate: rate, OutlierSlow: slow, OutlierWindow: 1, OutlierRequests: 10, OutlierTime: 60}
	return s
}

// untilEjected sends requests until a backend is ejected, for ten seconds at most.
func untilEjected(t *testing.T, a *l7test.Appliance, addr string, id uint32) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !isEjected(a, id); {
		if exchangesWith(t, addr, 4); time.Now().After(end) {
			t.Fatalf("backend %d is not ejected", id)
		}
	}
}

// everyThird returns an error to every third request, on any connection.
func everyThird() func(c *l7test.Recorder) {
	n := make(chan int, 1)
	n <- 0
	return func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			i := <-n + 1
			n <- i
			if i%3 == 0 {
				c.Say(sorry)
			} else {
				c.Say(ok)
			}
		}
	}
}

func TestBackendThatFailsMoreOftenThanAnotherIsEjected(t *testing.T) {
	t.Parallel()
	bad, good := l7test.NewBackend(t, everyThird()), l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(nil, comparing(20, 0, bad.Addr, good.Addr))
	untilEjected(t, a, addr, 1)
	if by := exchangesWith(t, addr, 8); by[200] != 8 || isEjected(a, 2) {
		t.Errorf("answers %v", by)
	}
	e, _ := a.Health.Slot(1).Ejection()
	if e.Cause != health.CauseRate || e.Times != 1 || e.Until.Sub(e.Since) != time.Minute {
		t.Errorf("ejection %+v", e)
	}
	if log := a.Log.String(); !strings.Contains(log, "requests failed, more than 20 %") {
		t.Errorf("log:\n%s", log)
	}
	l7test.Eventually(t, "it is counted", func() bool { return a.Segment.SumBackend(1).Ejections == 1 })
}

// Failures caused by one client at every backend eject none.
func TestBackendsThatAllFailStay(t *testing.T) {
	t.Parallel()
	one, other := l7test.NewBackend(t, everyThird()), l7test.NewBackend(t, everyThird())
	a := l7test.New(t, 1)
	addr := a.Serve(nil, comparing(20, 0, one.Addr, other.Addr))
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); { // two windows
		exchangesWith(t, addr, 4)
	}
	if isEjected(a, 1) || isEjected(a, 2) || a.Segment.SumBackend(1).Failures < 10 {
		t.Errorf("ejected %t and %t after %d failures", isEjected(a, 1), isEjected(a, 2), a.Segment.SumBackend(1).Failures)
	}
}

func TestBackendThatTakesManyTimesAsLongIsEjected(t *testing.T) {
	t.Parallel()
	slow := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			time.Sleep(60 * time.Millisecond)
			c.Say(ok)
		}
	})
	good := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(nil, comparing(0, 3, good.Addr, slow.Addr))
	untilEjected(t, a, addr, 2)
	if e, _ := a.Health.Slot(2).Ejection(); e.Cause != health.CauseSlow || isEjected(a, 1) {
		t.Errorf("ejection %+v", e)
	}
	if log := a.Log.String(); !strings.Contains(log, "half of its answers took more than") {
		t.Errorf("log:\n%s", log)
	}
}

// After a change of the comparison or the backends, counting begins again.
func TestOutlierWindowIgnoresEarlierResponses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *farm.Service, moved string){
		"the service compares": func(*farm.Service, string) {},
		"the backend has moved": func(s *farm.Service, moved string) {
			s.OutlierRate = 20
			s.Backends[0] = l7test.Service("web", moved).Backends[0]
		},
		"the backend is drained": func(s *farm.Service, _ string) { s.Backends[0].Maintenance = farm.MaintenanceDrain },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := l7test.NewBackend(t, everyThird()), l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 1)
			s := comparing(20, 0, bad.Addr, good.Addr)
			before := s
			before.OutlierRate, before.OutlierSlow = 0, 100
			if name == "the service compares" {
				before.Outlier = farm.Outlier{}
			}
			addr := a.Serve(nil, before)
			time.Sleep(200 * time.Millisecond) // checked ten times a second: the window is open
			exchangesWith(t, addr, 60)
			changed := s
			changed.Backends = append([]farm.Backend(nil), s.Backends...)
			change(&changed, good.Addr)
			a.Serve(nil, changed)
			time.Sleep(1300 * time.Millisecond) // the window ends empty
			if isEjected(a, 1) {
				t.Error("ejected for failures before the change")
			}
		})
	}
}

// The client's upload does not count as backend time.
func TestSlowUploadIsNotTheBackendsTime(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		_, _ = io.ReadFull(c, make([]byte, 4))
		c.Say(ok)
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\n")
	l7test.Eventually(t, "its head is there", func() bool { return b.Received() != "" })
	const pause = time.Second
	time.Sleep(pause)
	if res := c.Send("body").Get(); res.StatusCode != 200 {
		t.Fatalf("answered %s", res.Status)
	}
	if times := a.Segment.SumBackendTimes(1); times.FirstByte.Count() != 1 || times.FirstByte.Nanos >= uint64(pause) {
		t.Errorf("the time of the backend is %s", time.Duration(times.FirstByte.Nanos))
	}
}

// An ejected backend is not a reference for the others.
func TestEjectedBackendIsNoReferenceForOthers(t *testing.T) {
	t.Parallel()
	good, one, other := l7test.NewBackend(t, l7test.Answer(ok)), l7test.NewBackend(t, everyThird()), l7test.NewBackend(t, everyThird())
	a := l7test.New(t, 1)
	s := comparing(20, 0, good.Addr, one.Addr, other.Addr)
	s.OutlierPercent = 100
	addr := a.Serve(nil, s)
	time.Sleep(200 * time.Millisecond) // see above
	exchangesWith(t, addr, 60)
	a.Health.Eject(1, health.CauseReset, time.Now(), time.Minute)
	time.Sleep(1300 * time.Millisecond)
	if isEjected(a, 2) || isEjected(a, 3) {
		t.Errorf("ejected: %t and %t", isEjected(a, 2), isEjected(a, 3))
	}
}
