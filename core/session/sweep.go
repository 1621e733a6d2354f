package session

import (
	"math"
	"time"
)

// lockedFor is the number of sessions scanned per lock. A loop waits for the lock for
// at most a few microseconds.
const lockedFor = 64

// Sweep scans up to budget sessions and returns how many expired ones it removed. Each
// call continues where the last one stopped. A budget of a few hundred takes
// microseconds. Concurrent calls share the work.
func (t *Table) Sweep(now int64, ttl time.Duration, budget int) (removed int) {
	// An empty shard also costs one unit of the budget, so that a call always ends
	// soon.
	for budget > 0 {
		at := int(t.sweeping.Load()) % len(t.shards)
		looked, gone, done := t.shards[at].sweep(now, ttl, min(budget, lockedFor))
		budget, removed = budget-max(1, looked), removed+gone
		if done {
			t.sweeping.Store(uint32(at + 1))
			if at+1 == len(t.shards) {
				return removed // at most one round per call
			}
		}
	}
	return removed
}

// sweep scans down from the cursor, because an entry moved into a hole was scanned
// already. done reports whether it reached the beginning of the shard.
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

// DropBackend removes all sessions of a backend except static ones and returns their
// number. It scans the whole table, a few sessions at a time.
func (t *Table) DropBackend(id uint32) (dropped int) {
	return t.drop(func(e *entry) bool { return e.backend == id && e.standing != static })
}

// Flush removes all sessions except static ones and returns their number.
func (t *Table) Flush() (dropped int) {
	return t.drop(func(e *entry) bool { return e.standing != static })
}

// drop removes the sessions for which gone returns true. Sessions added meanwhile may
// remain.
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

// drop scans sessions below from and returns where to continue.
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

// Session is one entry of a table.
type Session struct {
	Key     []byte // valid until the callback returns
	Backend uint32
	Used    int64 // time of last use
	Static  bool  // does not expire
}

// Range calls yield for every session, in no order, until it returns false. It copies
// one shard at a time and holds no lock during yield. Sessions added or removed
// meanwhile may be missed. A session is seen twice only if it was removed and added
// again. Expired sessions are included; compare Used.
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
