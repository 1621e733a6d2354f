package session

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"
)

// MaxKey is the maximum length of a key in bytes.
const MaxKey = 255

// maxShards and shardEntries determine the number of shards. Small tables have fewer,
// so that the limit of each shard stays close to its share.
const (
	maxShards    = 256
	shardEntries = 4096
)

// Table holds the sessions of one service. It is safe for concurrent use. It does not
// retain or modify keys passed to it. Tables are created by New.
type Table struct {
	seed   maphash.Seed
	shift  uint // hash >> shift is the shard
	shards []shard
	// sweeping is the shard at which Sweep continues.
	sweeping atomic.Uint32
	// forgotten counts evicted sessions, see Forgotten.
	forgotten atomic.Uint64
}

// New returns an empty table for at most maxEntries sessions (at least 1). Memory is
// allocated as sessions are added. Keys spread unevenly over shards, so eviction begins
// a few per cent before the table is full.
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

// Get returns the backend of a session used within ttl before now. It updates the last
// use and marks the session as proven. It does not allocate.
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

// Peek is Get without side effects.
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

// Put assigns key to backend unless it has a static session. It returns false without
// effect for an empty key or one longer than MaxKey, and if the shard holds only static
// sessions.
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

// PutStatic assigns key to backend until it is deleted; the session neither expires nor
// is evicted. It returns false in the same cases as Put.
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

// PutIfAbsent assigns key to backend unless it has a live session, and returns its
// backend. Two loops that see a new client at the same time therefore agree. added is
// false if a session existed, or if the key cannot be stored; owner is backend then.
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

// Delete removes a session and reports whether it existed.
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

// Len returns the number of sessions, including expired ones that have not been
// removed.
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

// Forgotten returns the number of sessions evicted since its last call.
func (t *Table) Forgotten() uint64 {
	if t.forgotten.Load() == 0 {
		return 0
	}
	return t.forgotten.Swap(0)
}

func storable(key []byte) bool { return len(key) > 0 && len(key) <= MaxKey }

// shard returns the shard and the hash of a key. The high bits select the shard, the
// low ones the bucket. The seed is random, so clients cannot choose keys that collide.
func (t *Table) shard(key []byte) (*shard, uint32) {
	h := maphash.Bytes(t.seed, key)
	return &t.shards[h>>t.shift], uint32(h)
}

// process is the start time of this process, by the system clock.
var process = struct {
	at   time.Time
	unix int64
}{time.Now(), time.Now().UnixNano()}

// Now returns the time for sessions in nanoseconds: Unix time at process start plus the
// time elapsed since. Setting the system clock does not affect it, so sessions keep
// their lifetime.
func Now() int64 { return process.unix + int64(time.Since(process.at)) }
