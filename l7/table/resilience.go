package table

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/outlier"
	"github.com/sluicelb/sluice/l7/state"
)

// compileResilience compiles what a service does about backends that are full
// or fail.
func (c *Compiler) compileResilience(out *Service, s *farm.Service) {
	out.Queue, out.QueueLength = c.registry.Queues.Of(s.ID), int64(s.Queue)
	out.Retry, out.Outlier = c.newRetrying(s), newOutlier(s)
	out.QueueTimeout = nanos(cmp.Or(s.QueueTimeout, farm.DefaultQueueTimeout))
}

// RetryCondition is a way a try may fail.
type RetryCondition uint8

// The ways, which are bits of a set.
const (
	RetryReset   RetryCondition = 1 << iota // the connection ended without an answer
	RetryTimeout                            // the answer did not begin in time
	RetryStatus                             // the answer has one of certain statuses
)

// Retrying is which failed tries of a service go on to another backend.
type Retrying struct {
	On       RetryCondition // which of them, or-ed
	statuses []int          // with RetryStatus
	Most     uint8          // tries more than the first
	Percent  uint32         // the budget: of the requests, see state.Spent
	Unsafe   bool           // requests that may have an effect are repeated, too
	Spent    []state.Spent  // by loop
}

// newRetrying compiles what a service says; nil when only connects are repeated,
// which they always are.
func (c *Compiler) newRetrying(s *farm.Service) *Retrying {
	rt := &Retrying{
		Most: cmp.Or(s.Retries, farm.DefaultRetries), Percent: uint32(cmp.Or(s.RetryBudget, farm.DefaultRetryBudget)), Unsafe: s.RetryUnsafe,
	}
	for _, on := range s.RetryOn {
		switch on {
		case farm.RetryConnect:
		case farm.RetryReset:
			rt.On |= RetryReset
		case farm.RetryTimeout:
			rt.On |= RetryTimeout
		default:
			if status, err := strconv.Atoi(string(on)); err == nil {
				rt.On |= RetryStatus
				rt.statuses = append(rt.statuses, status)
			}
		}
	}
	if rt.On == 0 {
		return nil
	}
	rt.Spent = *c.registry.Spent.Of(s.ID)
	return rt
}

// Status reports whether an answer of that status is a failed try.
func (rt *Retrying) Status(status int) bool {
	return status >= 400 && slices.Contains(rt.statuses, status)
}

// Outlier is when a service ejects a backend.
type Outlier struct {
	outlier.Limits               // what is allowed in a window
	Window         time.Duration // that is counted
	Errors         int           // failures in a row that eject it; 0: none do
	Time           time.Duration // it is out the first time
	Percent        int           // of the backends that may be out at once
}

// Compares reports whether backends are compared with each other.
func (o *Outlier) Compares() bool { return o.Rate != 0 || o.Slow != 0 }

func newOutlier(s *farm.Service) *Outlier {
	if s.OutlierErrors == 0 && s.OutlierRate == 0 && s.OutlierSlow == 0 {
		return nil
	}
	return &Outlier{
		Limits: outlier.Limits{Rate: int(s.OutlierRate), Slow: int(s.OutlierSlow), Requests: uint64(cmp.Or(s.OutlierRequests, farm.DefaultOutlierRequests))},
		Window: time.Duration(nanos(cmp.Or(s.OutlierWindow, farm.DefaultOutlierWindow))),
		Errors: int(s.OutlierErrors), Time: time.Duration(nanos(cmp.Or(s.OutlierTime, farm.DefaultOutlierTime))),
		Percent: int(cmp.Or(s.OutlierPercent, farm.DefaultOutlierPercent)),
	}
}
