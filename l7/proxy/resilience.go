package proxy

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// compileResilience compiles what a service does about backends that are full
// or fail.
func (e *Engine) compileResilience(out *service, s *farm.Service) {
	out.queue, out.queueLength = e.registry.Queues.Of(s.ID), int64(s.Queue)
	out.retry, out.outlier = e.newRetrying(s), newOutlier(s)
	out.queueTimeout = nanos(cmp.Or(s.QueueTimeout, farm.DefaultQueueTimeout))
}
