//go:build !race

package dial_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
)

// Once with one server name, and once with two alternating ones, whose buckets come and go.
func TestPoolingAllocatesNothing(t *testing.T) {
	b := newBench(t)
	addr := backend(t, nil, nil)
	named := func(name string) *dial.Target {
		return &dial.Target{ID: 3, Addr: addr, Timeout: int64(time.Second), Options: loop.DialOptions{Security: loop.Security{ServerName: name}}}
	}
	for _, targets := range [][]*dial.Target{{named("")}, {named("a"), named("b")}} {
		for _, to := range targets {
			b.connections(to, 1)
		}
		u := &user{}
		b.on(func() {
			if n := testing.AllocsPerRun(1000, func() {
				for _, to := range targets {
					c := b.pool.Idle(to, u)
					b.pool.Put(c)
				}
			}); n != 0 {
				t.Errorf("%d names: %v allocations", len(targets), n)
			}
		})
	}
}
