package rbac

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
)

// enqueue starts a goroutine that enters the queue, and appends its name to turns when
// admitted.
func enqueue(t *testing.T, q *queue, source, name string, turns *[]string) {
	go func() {
		if err := q.enter(context.Background(), netip.MustParsePrefix(source)); err != nil {
			t.Error(err)
		}
		*turns = append(*turns, name)
		q.leave()
	}()
	synctest.Wait()
}

func TestSourcesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		if err := q.enter(t.Context(), netip.Prefix{}); err != nil {
			t.Fatal(err)
		}
		var turns []string
		for _, name := range []string{"a1", "a2", "a3"} {
			enqueue(t, q, "192.0.2.1/32", name, &turns)
		}
		enqueue(t, q, "192.0.2.2/32", "b1", &turns)
		enqueue(t, q, "192.0.2.2/32", "b2", &turns)
		enqueue(t, q, "192.0.2.3/32", "c1", &turns)
		q.leave()
		synctest.Wait()
		if !slices.Equal(turns, []string{"a1", "b1", "c1", "a2", "b2", "a3"}) || q.working != 0 || len(q.waiting) != 0 || len(q.turns) != 0 {
			t.Errorf("%v, then %+v", turns, q)
		}
	})
}

func TestAsManyWorkAsMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		for range 2 {
			if err := q.enter(t.Context(), netip.Prefix{}); err != nil {
				t.Fatal(err)
			}
		}
		var turns []string
		if enqueue(t, q, "192.0.2.1/32", "a", &turns); len(turns) != 0 {
			t.Error("a third one works")
		}
		q.leave()
		synctest.Wait()
		if q.leave(); len(turns) != 1 || q.working != 0 {
			t.Errorf("%v, %d work", turns, q.working)
		}
	})
}

func TestCancelledWaiterLeavesNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		if err := q.enter(t.Context(), netip.Prefix{}); err != nil {
			t.Fatal(err)
		}
		at := netip.MustParsePrefix("192.0.2.1/32")
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go q.enter(ctx, at)
		}
		synctest.Wait()
		var turns []string
		enqueue(t, q, "192.0.2.1/32", "a", &turns)
		cancel()
		synctest.Wait()
		if len(q.waiting[at]) != 1 || len(q.turns) != 1 {
			t.Errorf("%+v", q)
		}
		q.leave()
		synctest.Wait()
		if len(turns) != 1 || q.working != 0 || len(q.turns) != 0 {
			t.Errorf("%v, %+v", turns, q)
		}
		gone, end := context.WithCancel(t.Context())
		end()
		if q.enter(gone, at) == nil || q.working != 0 {
			t.Error("a cancelled caller gets a turn")
		}
	})
}
