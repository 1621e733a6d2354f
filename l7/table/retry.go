package table

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/state"
)

// RetryCondition is a way a try may fail.
type RetryCondition uint8

const (
	RetryReset RetryCondition = 1 << iota
	RetryTimeout
	RetryStatus
)

// retrying is which failed tries of a service go on to another backend.
type retrying struct {
	On       RetryCondition
	statuses []int
	Most     uint8
	Percent  uint32
	Unsafe   bool
	Spent    []state.Spent // by loop
}

// newRetrying compiles what a service says; nil when only connects are repeated,
// which they always are.
func (k *Compiler) newRetrying(s *farm.Service) *retrying {
	rt := &retrying{
		Most: cmp.Or(s.Retries, farm.DefaultRetries), Percent: uint32(cmp.Or(s.RetryBudget, farm.DefaultRetryBudget)), Unsafe: s.RetryUnsafe,
	}
	for _, c := range s.RetryOn {
		switch c {
		case farm.RetryConnect:
		case farm.RetryReset:
			rt.On |= RetryReset
		case farm.RetryTimeout:
			rt.On |= RetryTimeout
		default:
			if status, err := strconv.Atoi(string(c)); err == nil {
				rt.On |= RetryStatus
				rt.statuses = append(rt.statuses, status)
			}
		}
	}
	if rt.On == 0 {
		return nil
	}
	rt.Spent = *k.registry.Spent.Of(s.ID)
	return rt
}

// Status reports whether an answer of that status is a failed try.
func (rt *retrying) Status(status int) bool {
	return status >= 400 && slices.Contains(rt.statuses, status)
}
