package proxy_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// The failure of an exchange that began before a change does not concern the changed
// backend.
func TestAFailureOfBeforeAChangeEjectsNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *farm.Service, moved string)
		want   bool
	}{
		"of nothing":        {func(*farm.Service, string) {}, true},
		"of the address":    {func(s *farm.Service, moved string) { s.Backends[0] = l7test.Service("web", moved).Backends[0] }, false},
		"of the backends":   {func(s *farm.Service, _ string) { s.Backends = s.Backends[1:] }, false},
		"of the service":    {func(s *farm.Service, _ string) { s.ID = 2 }, false},
		"of the ejections":  {func(s *farm.Service, _ string) { s.Outlier = farm.Outlier{} }, false},
		"of who is counted": {func(s *farm.Service, _ string) { s.Backends[2].Maintenance = farm.MaintenanceDrain }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan bool)
			bad := l7test.NewBackend(t, func(c *l7test.Recorder) {
				_, _ = c.Head()
				<-release
				c.Say(sorry)
				_, _ = c.Head()
			})
			good := l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 1)
			s := ejecting(1, 60, bad.Addr, good.Addr, good.Addr)
			s.OutlierPercent = 34 // one of three, but none of two
			s.Backends[1].Priority, s.Backends[2].Priority = 2, 2
			addr := a.Serve(nil, s)
			held := l7test.Dial(t, addr).Send(get("/"))
			l7test.Eventually(t, "it is there", func() bool { return bad.Received() != "" })
			changed := s
			changed.Backends = append([]farm.Backend(nil), s.Backends...)
			c.change(&changed, good.Addr)
			a.Serve(nil, changed)
			close(release)
			if res := held.Get(); res.StatusCode != 503 {
				t.Fatalf("answered %s", res.Status)
			}
			if isEjected(a, 1) != c.want {
				t.Errorf("it is ejected: %t", !c.want)
			}
		})
	}
}

func TestEngineThatRecordsNothingServes(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	a.Engine.Record(nil, make([]*accesslog.Writer, 1))
	c := l7test.Dial(t, a.Serve(logs, l7test.Service("web", b.Addr)))
	for range 2 {
		if res := c.Send(get("/")).Get(); res.StatusCode != 200 || res.Header.Get("X-Request-Id") != "" {
			t.Errorf("answered %s %v", res.Status, res.Header)
		}
	}
	if res := c.Send("GET / HTTP/9.9\r\n\r\n").Get(); res.StatusCode != 505 {
		t.Errorf("answered %s", res.Status)
	}
}
