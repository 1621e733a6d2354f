package session

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"
)

// MaxKey is the longest key in bytes.
const MaxKey = 255

// maxShards and shardEntries choose the number of shards: small tables have
// fewer, so that each shard's bound stays near its share.
const (
	maxShards    = 256
	shardEntries = 4096
)

// Table is the sessions of one service. Any goroutine may use it; keys are
// only read. Use New.
type Table struct {
	seed   maphash.Seed
	shift  uint // hash >> shift is the shard
	shards []shard
	// sweeping is the shard Sweep goes on with.
	sweeping atomic.Uint32
	// forgotten are the sessions that made room for others, see Forgotten.
	forgotten atomic.Uint64
}

// New makes an empty table for at most maxEntries sessions (at least 1). Memory
// is taken as sessions come. Keys spread unevenly over shards, so the first
// session is forgotten when the table is some per cent short of full.
func New(maxEntries int) *Table {
	maxEntries = max(1, maxEntries)
	n := 1
	for n < maxShards && n*shardEntries < maxEntries {
		n *= 2
	}
	t := &Table{seed: maphash.MakeSeed(), shift: uint(64 - bits.TrailingZeros(uint(n))), shards: make([]shard, n)}
	for i := range t.shards {
		t.shards[i].forgotten = &t.forgotten
		t.shards[i].limit = maxEntries / n
		if i < maxEntries%n {
			t.shards[i].limit++
		}
	}
	return t
}

// Get returns the backend of a session that was used within ttl before now,
// and notes the use: who comes back is proven. 0 allocations.
func (t *Table) Get(key []byte, now int64, ttl time.Duration) (backend uint32, ok bool) {
	if !storable(key) {
		return 0, false
	}
	s, h := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.live(h, key, now, ttl)
	if e == nil {
		return 0, false
	}
	e.used = max(e.used, now)
	s.prove(e)
	return e.backend, true
}

// Peek is Get without noting the use.
func (t *Table) Peek(key []byte, now int64, ttl time.Duration) (s Session, ok bool) {
	if !storable(key) {
		return Session{}, false
	}
	shard, h := t.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	e := shard.find(h, key)
	if e == nil || expired(e, now, ttl) {
		return Session{}, false
	}
	return Session{Key: key, Backend: e.backend, Used: e.used, Static: e.standing == static}, true
}

// Put makes key belong to backend from now on, unless a static session says
// otherwise. It does nothing and returns false for an empty key or one longer
// than MaxKey: what nobody sent identifies nobody.
func (t *Table) Put(key []byte, backend uint32, now int64) bool {
	if !storable(key) {
		return false
	}
	s, h := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.find(h, key); e != nil {
		e.used = max(e.used, now)
		if e.standing != static {
			s.give(e, key, backend)
		}
		return true
	}
	return s.insert(h, key, backend, now) != nil
}

// PutStatic makes key belong to backend until it is deleted: it neither expires
// nor makes room for others. It returns false where Put does.
func (t *Table) PutStatic(key []byte, backend uint32, now int64) bool {
	if !storable(key) {
		return false
	}
	s, h := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(h, key)
	if e == nil {
		e = s.insert(h, key, backend, now)
	}
	if e == nil {
		return false
	}
	s.give(e, key, backend)
	e.used = max(e.used, now)
	s.promote(e, static)
	return true
}

// PutIfAbsent makes key belong to backend unless it has a live session, and
// returns the backend it belongs to then. Two loops that see a new client at
// once so agree on one backend. added is false when a session was there, or
// when the key cannot be stored (the result then is the backend given).
func (t *Table) PutIfAbsent(key []byte, backend uint32, now int64, ttl time.Duration) (owner uint32, added bool) {
	if !storable(key) {
		return backend, false
	}
	s, h := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.live(h, key, now, ttl); e != nil {
		e.used = max(e.used, now)
		return e.backend, false
	}
	s.insert(h, key, backend, now)
	return backend, true
}

// Delete forgets a session and reports whether there was one.
func (t *Table) Delete(key []byte) bool {
	if !storable(key) {
		return false
	}
	s, h := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(h, key)
	if i < 0 {
		return false
	}
	s.remove(i)
	return true
}

// Len returns the number of sessions kept, expired ones included until they
// are met.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += s.n
		s.mu.Unlock()
	}
	return n
}

// Forgotten returns how many sessions made room for others since it was last
// asked. Static ones never do.
func (t *Table) Forgotten() uint64 {
	if t.forgotten.Load() == 0 {
		return 0
	}
	return t.forgotten.Swap(0)
}

func storable(key []byte) bool { return len(key) > 0 && len(key) <= MaxKey }

// shard returns the shard and the hash of a key. The high bits choose the
// shard, the low ones the bucket in it. The seed is random, so that clients
// cannot choose keys that meet.
func (t *Table) shard(key []byte) (*shard, uint32) {
	h := maphash.Bytes(t.seed, key)
	return &t.shards[h>>t.shift], uint32(h)
}

// process is when this process began, by the system's clock.
var process = struct {
	at   time.Time
	unix int64
}{time.Now(), time.Now().UnixNano()}

// Now is the time sessions are kept by, in nanoseconds: Unix time as it was when
// the process began, and what has passed since. Unlike the system's clock it is
// never set: sessions neither end early nor live on when that one is.
func Now() int64 { return process.unix + int64(time.Since(process.at)) }
