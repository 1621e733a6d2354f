package session_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/session"
)

// countKnown returns how many of the first n keys are still in a full table.
func countKnown(table *session.Table, n int) (left int) {
	for i := range n {
		if _, ok := table.Peek(key(i), 0, ttl); ok {
			left++
		}
	}
	return left
}

func TestInventedKeysEvictNoReturningClient(t *testing.T) {
	for _, limit := range []int{8, 100, 9_000} {
		table := session.New(limit)
		most := limit * 3 / 4
		for i := range most {
			table.Put(key(i), 1, 0)
			table.Get(key(i), 0, ttl)
		}
		before := countKnown(table, most) // some shards may have exceeded their share
		if limit <= 4096 && before != most {
			t.Fatalf("%d of %d sessions exist", before, most)
		}
		table.Forgotten()
		for i := range 20 * limit {
			table.PutIfAbsent(key(1_000_000+i), 2, 1, ttl)
		}
		if left := countKnown(table, most); left != before {
			t.Errorf("limit %d: %d of %d sessions are left", limit, left, before)
		}
		if n := table.Forgotten(); n < uint64(19*limit) || n > uint64(20*limit) {
			t.Errorf("limit %d: %d sessions were forgotten, of %d that were invented", limit, n, 20*limit)
		}
		if table.Forgotten() != 0 {
			t.Error("evictions are counted twice")
		}
	}
}

// New clients get sessions even if all others are returning clients.
func TestNewClientsFitAmongReturningClients(t *testing.T) {
	const limit = 800
	table := session.New(limit)
	for i := range 4 * limit {
		now := int64(i)
		table.Put(key(i), 1, now)
		if _, ok := table.Get(key(i), now, ttl); !ok {
			t.Fatalf("client %d is forgotten a moment later", i)
		}
		if i >= limit/16 {
			if _, ok := table.Peek(key(i-limit/16), now, ttl); !ok {
				t.Fatalf("client %d is forgotten after %d others", i-limit/16, limit/16)
			}
		}
	}
}

func TestReturningClientsSurviveTheProcess(t *testing.T) {
	mem := shared(t, segment(t))
	table := session.NewIn(open(t, mem), 7, 100)
	for i := range 50 {
		table.Put(key(i), 1, 1)
		table.Get(key(i), 1, ttl)
	}
	table = session.NewIn(open(t, mem), 7, 100)
	for i := range 2000 {
		table.Put(key(1000+i), 2, 2)
	}
	if left := countKnown(table, 50); left != 50 {
		t.Errorf("%d of 50 sessions are left", left)
	}
}

// A single session that may be evicted is found, and no other is evicted.
func TestTheOnlySessionThatMayMakeRoomDoes(t *testing.T) {
	const limit = 4096
	table := session.New(limit)
	for i := range limit - 1 {
		table.PutStatic(key(i), 1, 0)
	}
	for i := range 20 {
		if !table.Put(key(limit+i), 2, int64(i)) {
			t.Fatal("a new client finds no room")
		}
	}
	if left := countKnown(table, limit-1); left != limit-1 || table.Len() != limit {
		t.Errorf("%d of %d static sessions are left, %d in all", left, limit-1, table.Len())
	}
}

func TestStaticSessionsLeaveRoomForNewOnes(t *testing.T) {
	const limit = 80
	table := session.New(limit)
	for i := range limit - 2 {
		table.Put(key(i), 1, 0)
		table.Get(key(i), 0, ttl)
		table.PutStatic(key(i), 1, 0)
	}
	for i := range 10 * limit {
		if !table.Put(key(1000+i), 2, int64(i)) {
			t.Fatal("a new client finds no room")
		}
		table.Get(key(1000+i), int64(i), ttl)
	}
	for i := range limit - 2 {
		table.Delete(key(i))
	}
	for i := range 10 * limit {
		table.Put(key(9000+i), 3, int64(i))
	}
	if n := table.Len(); n != limit {
		t.Errorf("%d sessions, the bound is %d", n, limit)
	}
}
