package probe

import (
	"context"
	"sync/atomic"
	"time"
)

type limitKey struct{}

// limited is the caller's side of a context made by Limited.
type limited struct {
	caller context.Context
	waited atomic.Int64
}

// Limited returns a context for one Run, which ends after limit. waited returns how long the
// probe waited for its turn on this machine: that is no time of the target.
func Limited(
	ctx context.Context, limit time.Duration,
) (_ context.Context, cancel context.CancelFunc, waited func() time.Duration) {
	l := &limited{caller: ctx}
	ctx, cancel = context.WithTimeout(context.WithValue(ctx, limitKey{}, l), limit)
	return ctx, cancel, func() time.Duration { return time.Duration(l.waited.Load()) }
}

// Patient returns a context without the limit of Limited, which still ends with the caller.
// It is for a probe that has to wait for its turn and limits its time itself from then on.
// Without Limited it returns ctx.
func Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	l, is := ctx.Value(limitKey{}).(*limited)
	if !is {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(l.caller, cancel)
	return ctx, func() { stop(); cancel() }
}

// Waited reports how long a probe waited for its turn. A probe calls it with the context of
// its Run or of Patient.
func Waited(ctx context.Context, d time.Duration) {
	if l, is := ctx.Value(limitKey{}).(*limited); is {
		l.waited.Store(int64(d))
	}
}
