package resolve_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// A name that is gone keeps its addresses for the configured time, and no longer. Failures of
// servers do not start that time.
func TestRemovedNameIsWithdrawnAfterTheSetTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{answers: map[string]resolve.Answer{}, asked: map[string]int{}}
		b.set("a.example", time.Minute, "10.0.0.1")
		var fails atomic.Pointer[error]
		question := resolve.Question{Name: "a.example"}
		limits := resolve.DefaultLimits
		limits.GoneTime = 2 * time.Hour
		var changes atomic.Int64
		f := resolve.New(resolve.Options{
			Lookup: func(ctx context.Context, q resolve.Question) (resolve.Answer, error) {
				if err := fails.Load(); err != nil {
					return resolve.Answer{}, *err
				}
				return b.lookup(ctx, q)
			},
			Wanted:  func() []resolve.Question { return []resolve.Question{question} },
			Limits:  func() resolve.Limits { return limits },
			Changed: func(context.Context) { changes.Add(1) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.Run(ctx) }()
		look := func(what string, after time.Duration, withdrawn bool) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if s, known := f.Look(question); !known || s.Withdrawn != withdrawn || len(s.Targets) != 1 {
				t.Errorf("%s: %+v", what, s)
			}
		}
		look("at first", time.Second, false)
		silent := errors.New("no server answers")
		fails.Store(&silent)
		look("without an answer", 5*time.Hour, false)
		gone := resolve.ErrNoAddress
		fails.Store(&gone)
		look("gone", 2*time.Hour-time.Minute, false)
		changes.Store(0)
		look("gone for long", 5*time.Minute, true)
		if n := changes.Load(); n != 1 {
			t.Errorf("%d notifications", n)
		}
		fails.Store(nil)
		look("back", 5*time.Minute, false)
		cancel()
		<-done
	})
}
