package proxy_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestRecordsTellWhyABackendWasChosen(t *testing.T) {
	t.Parallel()
	b := numbered(t)
	s := pinning(b.Addr)
	a := l7test.New(t, 1)
	addr := a.Serve(logs, s)
	records := l7test.RecordsOf(t, a)
	c := l7test.Dial(t, addr)
	for _, want := range []string{"algorithm", "pin"} {
		c.Send(get("/")).Get()
		if got := records.Next().Why.String(); got != want {
			t.Errorf("decision %q, want %q", got, want)
		}
	}
}

func TestRecordsTellHowLongAnExchangeWaited(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			<-release
			c.Say(ok)
		}
	})
	s := l7test.Service("web", b.Addr)
	s.Backends[0].ConnLimit, s.Queue, s.QueueTimeout = 1, 1, 1
	a := l7test.New(t, 1)
	addr := a.Serve(logs, s)
	records := l7test.RecordsOf(t, a)
	first, second := l7test.Dial(t, addr).Send(get("/first")), l7test.Dial(t, addr)
	l7test.Eventually(t, "the first is at the backend", func() bool { return b.Received() != "" })
	second.Send(get("/second"))
	if res := second.Get(); res.StatusCode != 503 {
		t.Fatal(res.Status)
	}
	if l := records.Next(); l.Path != "/second" || l.Queue < int64(time.Second)*9/10 || l.Queue > l.Total || l.Why != accesslog.WhyNone {
		t.Errorf("waited in vain: %+v", l)
	}
	second.Send(get("/second"))
	l7test.Eventually(t, "the second waits", func() bool { return a.Segment.SumFarm(1).Queued == 1 })
	close(release)
	first.Get()
	second.Get()
	if l := records.Next(); l.Path != "/first" || l.Queue != 0 {
		t.Errorf("did not wait: %+v", l)
	}
	if l := records.Next(); l.Path != "/second" || l.Queue <= 0 || l.Queue > l.Total {
		t.Errorf("waited: %+v", l)
	}
}
