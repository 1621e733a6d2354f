package session

import (
	"math"
	"time"
)

// lockedFor is how many sessions are looked at while a shard is locked: a loop
// that meets the lock waits for some microseconds at most.
const lockedFor = 64

// Sweep looks at up to budget sessions, removes the expired ones and returns
// how many. Each call goes on where the last one stopped; a budget of a few
// hundred takes microseconds. Of two calls at once each does a part.
func (t *Table) Sweep(now int64, ttl time.Duration, budget int) (removed int) {
	// An empty shard costs one of the budget too: a call always ends soon.
	for budget > 0 {
		at := int(t.sweeping.Load()) % len(t.shards)
		looked, gone, done := t.shards[at].sweep(now, ttl, min(budget, lockedFor))
		budget, removed = budget-max(1, looked), removed+gone
		if done {
			t.sweeping.Store(uint32(at + 1))
			if at+1 == len(t.shards) {
				return removed // once round is enough for one call
			}
		}
	}
	return removed
}

// sweep goes down from the cursor: an entry moved into a hole was looked at
// already. done tells that the shard's beginning was reached.
func (s *shard) sweep(now int64, ttl time.Duration, budget int) (looked, removed int, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cursor <= 0 || s.cursor > s.n {
		s.cursor = s.n
	}
	for ; looked < budget && s.cursor > 0; looked++ {
		s.cursor--
		if expired(s.at(s.cursor), now, ttl) {
			s.remove(s.cursor)
			removed++
		}
	}
	return looked, removed, s.cursor == 0
}

// DropBackend forgets all sessions of a backend but the static ones, and
// returns how many there were. It looks at every session, a few at a time.
func (t *Table) DropBackend(id uint32) (dropped int) {
	return t.drop(func(e *entry) bool { return e.backend == id && e.standing != static })
}

// Flush forgets all sessions but the static ones, and returns how many there
// were.
func (t *Table) Flush() (dropped int) {
	return t.drop(func(e *entry) bool { return e.standing != static })
}

// drop removes the sessions that go says yes to. What comes meanwhile may stay.
func (t *Table) drop(gone func(e *entry) bool) (dropped int) {
	for k := range t.shards {
		s := &t.shards[k]
		for from := math.MaxInt; from > 0; {
			var n int
			from, n = s.drop(from, gone)
			dropped += n
		}
	}
	return dropped
}

// drop looks at the sessions below from, and says where to go on.
func (s *shard) drop(from int, gone func(e *entry) bool) (next, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = min(from, s.n)
	next = max(0, from-lockedFor)
	for i := from - 1; i >= next; i-- {
		if gone(s.at(i)) {
			s.remove(i)
			dropped++
		}
	}
	return next, dropped
}

// Session is one entry as Range shows it.
type Session struct {
	Key     []byte // valid until the callback returns
	Backend uint32
	Used    int64 // time of last use
	Static  bool  // it does not expire
}

// Range calls yield for every session until it returns false, in no order. It
// copies one shard at a time and holds no lock while yield runs; sessions that
// come or go meanwhile may or may not be seen, none is seen twice unless it
// was removed and put again. Expired ones are shown: compare Used.
func (t *Table) Range(yield func(Session) bool) {
	var list []Session
	var keys []byte
	for k := range t.shards {
		list, keys = t.shards[k].copy(list[:0], keys[:0])
		for _, e := range list {
			if !yield(e) {
				return
			}
		}
	}
}

// copy appends the shard's sessions to list and their keys to keys.
func (s *shard) copy(list []Session, keys []byte) ([]Session, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.n {
		e := s.at(i)
		from := len(keys)
		keys = s.appendKey(keys, e)
		list = append(list, Session{Key: keys[from:len(keys):len(keys)], Backend: e.backend, Used: e.used, Static: e.standing == static})
	}
	return list, keys
}
