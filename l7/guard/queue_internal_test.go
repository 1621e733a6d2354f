package guard

import (
	"fmt"
	"testing"
	"time"
)

// sources returns the sources of the jobs in the order in which they are checked.
func (q *queue) sources() (order string) {
	for j := q.next(); j != nil; j = q.next() {
		order += fmt.Sprint(j.Source)
	}
	return order
}

func TestQueueAlternatesBetweenSources(t *testing.T) {
	t.Parallel()
	q := newQueue(100)
	for _, source := range []uint64{1, 1, 1, 1, 2, 3, 2} {
		if q.add(&Job{Source: source}) != nil {
			t.Fatal("a job is dropped although there is room")
		}
	}
	if got := q.sources(); got != "1231211" || q.count != 0 || len(q.jobs) != 0 {
		t.Errorf("the order is %s, %d are left", got, q.count)
	}
}

// Without room the source with the most jobs loses its latest, which may be the new one.
func TestAFullQueueDropsJobsOfTheSourceWithTheMost(t *testing.T) {
	t.Parallel()
	q := newQueue(4)
	for _, add := range []struct{ source, dropped uint64 }{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 5}, {1, 1}} {
		var dropped uint64
		if j := q.add(&Job{Source: add.source}); j != nil {
			dropped = j.Source
		}
		if dropped != add.dropped {
			t.Errorf("for a job of %d one of %d is dropped, want %d", add.source, dropped, add.dropped)
		}
	}
	if got := q.sources(); got != "1234" {
		t.Errorf("the order is %s, want %s", got, "1234")
	}
}

func TestExpiredJobsAreDropped(t *testing.T) {
	t.Parallel()
	q, now := newQueue(100), time.Now()
	for i, source := range []uint64{1, 2, 1, 3, 1} {
		q.add(&Job{Source: source, since: now.Add(time.Duration(i) * time.Second)})
	}
	if n := len(q.before(now)); n != 0 {
		t.Errorf("%d are dropped too early", n)
	}
	if n := len(q.before(now.Add(2500 * time.Millisecond))); n != 3 || q.count != 2 {
		t.Errorf("%d are dropped, %d remain", n, q.count)
	}
	if got := q.sources(); got != "13" || len(q.jobs) != 0 {
		t.Errorf("the order is %s", got)
	}
}
