package mgmt

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

// asked counts requests and responds with their number as the connections, after a while.
type asked struct {
	n     atomic.Uint64
	takes atomic.Int64 // nanoseconds
	err   atomic.Pointer[error]
}

func taking(d time.Duration) *asked {
	a := &asked{}
	a.takes.Store(int64(d))
	return a
}

func (a *asked) traffic(ctx context.Context) (stats.Traffic, error) {
	n := a.n.Add(1)
	select {
	case <-time.After(time.Duration(a.takes.Load())):
	case <-ctx.Done():
		return stats.Traffic{}, ctx.Err()
	}
	out := stats.Traffic{Farms: map[uint32]stats.Farm{1: {Connections: n}}}
	if err := a.err.Load(); err != nil {
		return out, *err
	}
	return out, nil
}

func TestCountersOfTheKernelAreAskedForOnceWhileTheyAreFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := taking(10 * time.Millisecond)
		tr := &recent[stats.Traffic]{ask: a.traffic}
		done := make(chan uint64)
		for range 5 {
			go func() {
				got, err := tr.get(t.Context())
				if err != nil {
					t.Error(err)
				}
				done <- got.Farms[1].Connections
			}()
		}
		for range 5 {
			if n := <-done; n != 1 {
				t.Errorf("answer %d", n)
			}
		}
		time.Sleep(recentFresh)
		if got, err := tr.get(t.Context()); err != nil || got.Farms[1].Connections != 2 {
			t.Errorf("%v, %v: no new query", got, err)
		}
	})
}

func TestAScrapeDoesNotWaitForNetd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := taking(time.Hour)
		tr := &recent[stats.Traffic]{ask: a.traffic}
		begin := time.Now()
		if _, ok := tr.soon(); ok || time.Since(begin) > recentPatience {
			t.Errorf("result known %v after %s", ok, time.Since(begin))
		}
		time.Sleep(recentTimeout)
		a.takes.Store(0)
		if got, ok := tr.soon(); !ok || got.Farms[1].Connections != 2 {
			t.Errorf("%v, %v", got, ok)
		}
		a.takes.Store(int64(time.Hour))
		time.Sleep(recentKept - 2*recentPatience)
		if got, ok := tr.soon(); !ok || got.Farms[1].Connections != 2 {
			t.Errorf("the result of a minute ago: %v, %v", got, ok)
		}
		time.Sleep(recentKept)
		if _, ok := tr.soon(); ok {
			t.Error("counters of long ago are shown")
		}
		time.Sleep(time.Minute) // the last request ends
	})
}

func TestNobodyWaitsLongerThanAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, no := taking(0), errors.New("no")
		a.err.Store(&no)
		tr := &recent[stats.Traffic]{ask: a.traffic}
		if _, err := tr.get(t.Context()); err == nil {
			t.Error("an error is lost")
		}
		a.err.Store(nil)
		a.takes.Store(int64(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := tr.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
	})
}

func TestDifferentAnswersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now []int
		r := &recent[[]int]{
			ask:    func(context.Context) ([]int, error) { return now, nil },
			differ: func(was, is []int) bool { return !slices.Equal(was, is) },
		}
		for i, c := range []struct {
			is   []int
			want uint64
		}{{nil, 0}, {[]int{1}, 1}, {[]int{1}, 1}, {[]int{2}, 2}, {nil, 3}} {
			now = c.is
			if got, ok := r.soon(); !ok || !slices.Equal(got, c.is) || r.moved.Load() != c.want {
				t.Errorf("answer %d: %v, %v, moved %d times", i, got, ok, r.moved.Load())
			}
			time.Sleep(recentFresh)
		}
	})
}
