package probe

import (
	"context"
	"sync/atomic"
)

type reportKey struct{}

// Reporting returns a context in which a probe can tell how much its target has to do, and
// what it told; known is false if it told nothing.
func Reporting(ctx context.Context) (_ context.Context, told func() (load uint64, known bool)) {
	var at atomic.Pointer[uint64]
	return context.WithValue(ctx, reportKey{}, &at), func() (uint64, bool) {
		if n := at.Load(); n != nil {
			return *n, true
		}
		return 0, false
	}
}

// Report tells how many connections the target has: a probe that knows it calls this with
// the context it runs with.
func Report(ctx context.Context, load uint64) {
	if at, is := ctx.Value(reportKey{}).(*atomic.Pointer[uint64]); is {
		at.Store(&load)
	}
}
