package resolve_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// A name that is gone keeps its addresses for the time that is set, and no longer. A server
// that does not answer says nothing about that.
func TestANameThatIsGoneForTheTimeThatIsSetIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{answers: map[string]resolve.Answer{}, asked: map[string]int{}}
		b.set("a.example", time.Minute, "10.0.0.1")
		var fails error
		question := resolve.Question{Name: "a.example"}
		limits := resolve.DefaultLimits
		limits.GoneTime = 2 * time.Hour
		changes := 0
		f := resolve.New(resolve.Options{
			Lookup: func(ctx context.Context, q resolve.Question) (resolve.Answer, error) {
				if fails != nil {
					return resolve.Answer{}, fails
				}
				return b.lookup(ctx, q)
			},
			Wanted:  func() []resolve.Question { return []resolve.Question{question} },
			Limits:  func() resolve.Limits { return limits },
			Changed: func(context.Context) { changes++ },
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
		fails = errors.New("no server answers")
		look("without an answer", 5*time.Hour, false)
		fails = resolve.ErrNoAddress
		look("gone", 2*time.Hour-time.Minute, false)
		changes = 0
		look("gone for long", 5*time.Minute, true)
		if changes != 1 {
			t.Errorf("told %d times", changes)
		}
		fails = nil
		look("back", 5*time.Minute, false)
		cancel()
		<-done
	})
}
