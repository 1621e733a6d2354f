package headroom

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

func TestOneGroupIsOnTheStageAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := newStage(), time.Now()
		at, order := 0, []int{}
		for i := range 5 {
			go func() {
				if err := s.play(t.Context(), func() {
					if at++; at != 1 {
						t.Errorf("%d are on the stage", at)
					}
					time.Sleep(time.Second)
					order = append(order, i)
					at--
				}); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(5*time.Second - time.Since(began))
		synctest.Wait()
		for i := range 5 {
			if len(order) != 5 || order[i] != i {
				t.Fatalf("after five seconds these were played: %v", order)
			}
		}
	})
}

func TestCancelledRequestLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := newStage(), make(chan struct{})
		go func() { _ = s.play(t.Context(), func() { <-end }) }()
		synctest.Wait()
		left, leave := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, leave)
		began := time.Now()
		if err := s.play(left, func() { t.Error("it is played for nobody") }); err != context.Canceled || time.Since(began) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		late, cancel := context.WithTimeout(t.Context(), longest)
		defer cancel()
		var refused *rest.Rejection
		if err := s.play(late, func() { t.Error("it is played too late") }); !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
			t.Errorf("too late: %v", err)
		}
		close(end)
		for range 20 { // even with a free stage, they get no turn
			if err := s.play(left, func() { t.Error("it is played for nobody") }); err != context.Canceled {
				t.Error(err)
			}
		}
		played := false
		if err := s.play(t.Context(), func() { played = true }); err != nil || !played {
			t.Errorf("the next caller: %v", err)
		}
	})
}

func TestAPanicGivesTheStageBack(t *testing.T) {
	s := newStage()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic does not reach the caller")
			}
		}()
		_ = s.play(t.Context(), func() { panic("fell off") })
	}()
	if len(s) != 0 {
		t.Error("the turn was not released")
	}
}
