package resolve_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

func TestAskJoinsAPendingQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := atomic.Int64{}, make(chan struct{})
		f := resolve.New(resolve.Options{Lookup: func(context.Context, resolve.Question) (resolve.Answer, error) {
			asked.Add(1)
			<-release
			return resolve.Answer{Targets: []resolve.Target{{Addr: netip.MustParseAddr("10.0.0.1")}}, TTL: time.Minute}, nil
		}})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if targets, err := f.Ask(t.Context(), resolve.Question{Name: "db.example"}); err != nil || len(targets) != 1 {
					t.Errorf("%v %v", targets, err)
				}
			})
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Ask(short, resolve.Question{Name: "db.example"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller without time got %v", err)
		}
		close(release)
		all.Wait()
		if _, err := f.Ask(t.Context(), resolve.Question{Name: "db.example"}); err != nil || asked.Load() != 1 {
			t.Errorf("got %d queries, %v, want 1", asked.Load(), err)
		}
		time.Sleep(time.Minute) // it has expired
		if _, err := f.Ask(t.Context(), resolve.Question{Name: "db.example"}); err != nil || asked.Load() != 2 {
			t.Errorf("got %d queries, %v, want 2", asked.Load(), err)
		}
	})
}

func TestUnwantedNamesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{answers: map[string]resolve.Answer{}, asked: map[string]int{}}
		b.set("old.example", 20*time.Second, "10.0.0.1")
		var gone atomic.Bool
		question := resolve.Question{Name: "old.example"}
		f := resolve.New(resolve.Options{Lookup: b.lookup, Wanted: func() []resolve.Question {
			if gone.Load() {
				return nil
			}
			return []resolve.Question{question}
		}})
		if s, ok := f.Look(question); ok {
			t.Errorf("known before the first query: %+v", s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.Run(ctx) }()
		time.Sleep(time.Second)
		gone.Store(true)
		time.Sleep(time.Second)
		if _, ok := f.Look(question); !ok {
			t.Error("forgotten before it was over")
		}
		time.Sleep(time.Minute)
		if s, ok := f.Look(question); ok || b.count("old.example") != 1 {
			t.Errorf("%d queries, known is %+v", b.count("old.example"), s)
		}
		cancel()
		<-done
	})
}

func TestAskRetriesAfterAFailure(t *testing.T) {
	b := &book{answers: map[string]resolve.Answer{}, asked: map[string]int{}}
	f := resolve.New(resolve.Options{Lookup: b.lookup})
	for n := range 2 {
		targets, err := f.Ask(t.Context(), resolve.Question{Name: "db.example"})
		if !errors.Is(err, resolve.ErrNoName) || targets != nil || b.count("db.example") != n+1 {
			t.Errorf("%d queries: %v, %v", b.count("db.example"), targets, err)
		}
	}
}
