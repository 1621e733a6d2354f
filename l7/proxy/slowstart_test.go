package proxy_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestBackendsThatComeUpStartSlowly(t *testing.T) {
	t.Parallel()
	var addrs []string
	for range 3 {
		addrs = append(addrs, l7test.NewBackend(t, l7test.Answer(ok)).Addr)
	}
	a := l7test.New(t, 2)
	publish := func(n int, mode farm.Maintenance) string {
		s := l7test.Service("web", addrs[:n]...)
		s.SlowStart, s.Backends[0].Maintenance = 3600, mode
		return a.Serve(nil, s)
	}
	c := l7test.Dial(t, publish(2, farm.MaintenanceOff))
	// share returns how many of n exchanges the backend gets.
	share := func(id uint32, n int) uint64 {
		before := a.Segment.SumBackend(id).Requests
		for range n {
			if res := c.Send(get("/")).Get(); res.StatusCode != 200 {
				t.Fatalf("answer %d", res.StatusCode)
			}
		}
		return a.Segment.SumBackend(id).Requests - before
	}
	if n := share(1, 20); n != 10 {
		t.Errorf("the first of two at the start of the engine: %d of 20", n)
	}
	publish(3, farm.MaintenanceOff)
	if n := share(3, 210); n != 10 {
		t.Errorf("a new backend next to two others: %d of 210", n)
	}
	a.Health.SetGuardian(2, health.Down, time.Now())
	if n := share(2, 10); n != 0 {
		t.Errorf("a down backend: %d", n)
	}
	a.Health.SetGuardian(2, health.Up, time.Now())
	if n := share(2, 120); n != 10 {
		t.Errorf("a recovered backend next to a similar one: %d of 120", n)
	}
	publish(3, farm.MaintenanceDrain)
	publish(3, farm.MaintenanceOff)
	if n := share(1, 30); n != 10 {
		t.Errorf("a backend out of maintenance, next to two with a tenth: %d of 30", n)
	}
}
