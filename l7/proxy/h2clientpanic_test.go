package proxy_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/proxy"
)

// A panic in the work for one stream closes its connection. The other streams end as with
// any broken connection.
func TestHTTP2PanicsCostOneConnectionAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]int{"service": proxy.BreakService, "farm": proxy.BreakFarm, "backend": proxy.BreakBackend} {
		t.Run(name, func(t *testing.T) {
			m := newMistake(t)
			m.service.Backends[0].ConnLimit = 0
			m.Serve(m.edit, m.service)
			p := l7test.DialFrames(t, m.addr)
			for id := uint32(1); id < 10; id += 2 {
				p.Ask(id, true, "GET", "/")
				m.wait(m.heads)
			}
			if n := m.Engine.Break(what); n != 5 {
				t.Fatalf("%d exchanges are under way, want 5", n)
			}
			for range 5 {
				m.say <- ok
			}
			p.Ended()
			if m.Engine.TakePanics() == 0 {
				t.Error("no panic occurred: the test would check too little")
			}
			l7test.Eventually(t, "the connection is counted out", func() bool {
				f := m.Segment.SumFarm(1)
				return f.Established == 0 && f.Pending == 0
			})
			for range 5 {
				m.gone() // else the response meant for the next request might be sent here
			}
			m.Serve(m.edit, m.service)
			q := l7test.DialFrames(t, m.addr)
			q.Ask(1, true, "GET", "/")
			m.wait(m.heads)
			m.say <- ok
			q.Want("1 HEADERS 200", "1 DATA ok end")
		})
	}
}
