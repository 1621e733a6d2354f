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

// compileResilience compiles a service's handling of full and failing backends.
func (c *Compiler) compileResilience(out *Service, s *farm.Service) {
	out.Queue, out.QueueLength = c.registry.Queues.Of(s.ID), int64(s.Queue)
	out.Retry, out.Outlier = c.newRetrying(s), newOutlier(s)
	out.QueueTimeout = nanos(cmp.Or(s.QueueTimeout, farm.DefaultQueueTimeout))
}

// RetryCondition is a set of failures of an attempt.
type RetryCondition uint8

// The failures, as bits.
const (
	RetryReset   RetryCondition = 1 << iota // the connection ended without a response
	RetryTimeout                            // the response did not begin in time
	RetryStatus                             // the response has one of certain statuses
)

// Retrying selects the failed attempts that are repeated on another backend.
type Retrying struct {
	On       RetryCondition // the failures, as a set
	statuses []int          // for RetryStatus
	Most     uint8          // maximum number of retries
	Percent  uint32         // the budget in percent of requests, see state.Spent
	Unsafe   bool           // non-idempotent requests are repeated, too
	Spent    []state.Spent  // per loop
}

// newRetrying compiles a service's retries. It returns nil if only failed connects are
// retried, which is always the case.
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

// Status reports whether a response with that status counts as a failure.
func (rt *Retrying) Status(status int) bool {
	return status >= 400 && slices.Contains(rt.statuses, status)
}

// Outlier holds the ejection settings of a service.
type Outlier struct {
	outlier.Limits               // limits per window
	Window         time.Duration // length of the window
	Errors         int           // consecutive failures that eject a backend; 0: disabled
	Time           time.Duration // first ejection time
	Percent        int           // maximum share of ejected backends
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
