package proxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// countedAs returns the farm's number of refusals of that class.
func countedAs(a *l7test.Appliance, class string) uint64 {
	for i, name := range a.Segment.Classes() {
		if name == class {
			return a.Segment.SumRejections(1)[i]
		}
	}
	return 0
}

func TestA503OfOursHasItsCauseInLogRecordAndCounters(t *testing.T) {
	t.Parallel()
	open := l7test.NewBackend(t, l7test.Answer(ok)).Addr
	gone := enginetest.NewSilent(t).Addr
	for name, c := range map[string]struct {
		edit  func(s *farm.Service)
		set   func(a *l7test.Appliance)
		class string
		why   []string
	}{
		"no service": {func(s *farm.Service) { s.VHost = "other.test" }, nil, "no-service", []string{"no service matches"}},
		"no backend": {func(s *farm.Service) { s.Backends = nil }, nil, "no-backend", []string{"the service has no backend"}},
		"each has its reason": {func(s *farm.Service) {
			*s = l7test.Service("web", gone, open, open, open, open)
			s.Backends[1].Maintenance = farm.MaintenanceDrain
			s.Backends[4].Alias = "rack five"
			s.Backends[4].Priority = 9
		}, func(a *l7test.Appliance) {
			a.Health.SetGuardian(3, health.Down, time.Now())
			a.Health.Eject(4, health.CauseReset, time.Now(), time.Hour)
		}, "no-backend", []string{
			gone + " could not be connected to", open + " in maintenance: drain", open + " its probes fail", open + " ejected", "rack five priority 9 is not served",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := l7test.New(t, 1)
			s := l7test.Service("web", open)
			c.edit(&s)
			addr := a.Serve(logs, s)
			if c.set != nil {
				c.set(a)
			}
			r := l7test.RecordsOf(t, a)
			if got := answerTo(t, addr, get("/")).StatusCode; got != 503 {
				t.Fatalf("answered %d", got)
			}
			if l := r.Next(); l.Status != 503 || classOf(a, l) != c.class {
				t.Errorf("the record has %d %q", l.Status, classOf(a, l))
			}
			if n := countedAs(a, c.class); n != 1 {
				t.Errorf("%d are counted", n)
			}
			l7test.Eventually(t, "the log says why", func() bool { return a.Log.Has("class=" + c.class) })
			line := a.Log.Lines("class=" + c.class)[0]
			for _, why := range append(c.why, "status=503", "farm=test") {
				if !strings.Contains(line, why) {
					t.Errorf("no %q in %s", why, line)
				}
			}
		})
	}
}

func TestOfManyBackendsALineNamesSome(t *testing.T) {
	t.Parallel()
	var addrs []string
	for range 30 {
		addrs = append(addrs, "127.0.0.1:1")
	}
	s := l7test.Service("web", addrs...)
	for i := range s.Backends {
		s.Backends[i].Maintenance = farm.MaintenanceCut
	}
	a := l7test.New(t, 1)
	answerTo(t, a.Serve(nil, s), get("/"))
	l7test.Eventually(t, "the log says why", func() bool { return a.Log.Has("class=no-backend") })
	if line := a.Log.Lines("class=no-backend")[0]; strings.Count(line, "127.0.0.1:1 ") != 8 || !strings.Contains(line, "and 22 more") {
		t.Errorf("log: %s", line)
	}
}

func TestAQueueThatIsFullOrTooSlowIsTheCause(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = c.Head(); <-hold })
	t.Cleanup(func() { close(hold) })
	s := l7test.Service("web", b.Addr)
	s.Queue, s.QueueTimeout, s.Backends[0].ConnLimit = 1, 1, 1
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "it is busy", func() bool { return a.Segment.SumBackend(1).Requests == 1 })
	waits := l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "one waits", func() bool { return a.Segment.SumFarm(1).Queued == 1 })
	if got := answerTo(t, addr, get("/")).StatusCode; got != 503 {
		t.Errorf("beyond the queue: %d", got)
	}
	if got := waits.Get().StatusCode; got != 503 {
		t.Errorf("in the queue: %d", got)
	}
	l7test.Eventually(t, "the log says both", func() bool {
		return a.Log.Has("the queue is full") && a.Log.Has("no backend had room in time")
	})
}
