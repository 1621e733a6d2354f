package table

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// compileResilience compiles what a service does about backends that are full
// or fail.
func (c *Compiler) compileResilience(out *Service, s *farm.Service) {
	out.Queue, out.QueueLength = c.registry.Queues.Of(s.ID), int64(s.Queue)
	out.Retry, out.Outlier = c.newRetrying(s), newOutlier(s)
	out.QueueTimeout = nanos(cmp.Or(s.QueueTimeout, farm.DefaultQueueTimeout))
}
