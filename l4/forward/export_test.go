package forward

import (
	"fmt"
	"sync"

	"github.com/sluicelb/sluice/core/balance"
)

// Counted returns a function that reports what is still counted after all connections have
// ended, i.e. leaked counts. Call it while the farms exist.
func (e *Engine) Counted() (left func() []string) {
	var loads []*balance.Load
	var conns []*connCount
	e.registries.loads.Each(func(l *balance.Load) { loads = append(loads, l) })
	e.registries.conns.Each(func(c *connCount) { conns = append(conns, c) })
	return func() (left []string) {
		var mu sync.Mutex
		note := func(what string, n int64) {
			if mu.Lock(); n != 0 {
				left = append(left, fmt.Sprintf("%d %s", n, what))
			}
			mu.Unlock()
		}
		for _, l := range loads {
			note("at a backend", l.Active.Load())
		}
		for _, c := range conns {
			note("for max_conns", c.open.Load())
		}
		note("flows of the engine", e.flows.Load())
		e.OnLoops(func(w *worker) {
			note("busy", int64(w.busy))
			note("shared sockets", int64(len(w.oneWays)))
			note("flows in lists", int64(len(w.flows.young)+len(w.flows.sure)))
			for _, farm := range []uint32{1, 2} {
				note("established", int64(w.shard.Farm(farm).Established))
				note("pending", int64(w.shard.Farm(farm).Pending))
			}
			for backend := range uint32(8) {
				note("established at a backend", int64(w.shard.Backend(backend).Established))
				note("pending at a backend", int64(w.shard.Backend(backend).Pending))
			}
			if w.firsts != nil {
				for _, f := range w.firsts.flows {
					if f != nil {
						note("first datagrams", 1)
					}
				}
			}
		})
		return left
	}
}
