package session

import "time"

// Sweep looks at up to budget sessions, removes the expired ones and returns
// how many. Each call goes on where the last one stopped; a budget of a few
// hundred takes microseconds. Of two calls at once each does a part.
func (t *Table) Sweep(now int64, ttl time.Duration, budget int) (removed int) {
	// An empty shard costs one of the budget too: a call always ends soon.
	for budget > 0 {
		at := int(t.sweeping.Load()) % len(t.shards)
		looked, gone, done := t.shards[at].sweep(now, ttl, budget)
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

// DropBackend forgets all sessions of a backend and returns how many there
// were. It looks at every session, one shard after the other.
func (t *Table) DropBackend(id uint32) (dropped int) {
	for k := range t.shards {
		s := &t.shards[k]
		s.mu.Lock()
		for i := s.n - 1; i >= 0; i-- {
			if s.at(i).backend == id {
				s.remove(i)
				dropped++
			}
		}
		s.mu.Unlock()
	}
	return dropped
}

// Session is one entry as Range shows it.
type Session struct {
	Key     []byte // valid until the callback returns
	Backend uint32
	Used    int64 // time of last use
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
		if key, ok := s.long[uint32(i)]; ok {
			keys = append(keys, key...)
		} else {
			keys = append(keys, e.key[:e.length]...)
		}
		list = append(list, Session{Key: keys[from:len(keys):len(keys)], Backend: e.backend, Used: e.used})
	}
	return list, keys
}
