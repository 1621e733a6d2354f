package session

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// inline is the maximum length of a key within its entry. It covers addresses, UUIDs
// and the session cookies of common application servers.
const inline = 40

// blockSize is the number of entries in a block (blockBytes). A block is a page, so 256
// shards with one session each stay cheap.
const blockSize = blockBytes / 64

// entry is one session in 64 bytes without pointers.
type entry struct {
	used     int64  // time of last use
	hash     uint32 // low bits of the key's hash
	backend  uint32
	next     uint32       // position + 1 of the next entry in the bucket; 0 ends the chain
	length   uint8        // of the key
	standing standing     // see standing
	sum      uint16       // checksum, see seal
	key      [inline]byte // the key, or its beginning (see long.go)
}

// standing is the eviction class of a session. Its values are stored in shared memory.
type standing uint8

const (
	dynamic standing = iota // client seen once: may be evicted
	static                  // configured by an operator: exists until deleted
	proven                  // returning client, see prove
	standings
)

// shard is a hash table with chaining. Entries 0 to n-1 are in use without gaps: remove
// moves the last one into the hole. Other entries have length 0.
type shard struct {
	mu        sync.Mutex
	source    source // of blocks
	limit     int
	n         int
	counts    [standings]int // entries by standing
	cursor    int            // position of Sweep, counting down
	buckets   []uint32       // position + 1 of the first entry; the length is a power of two
	blocks    []*[blockSize]entry
	slabs     *[classes]slab // for keys over inline bytes; nil if there are none
	forgotten *atomic.Uint64 // counter of the table
}

func (s *shard) at(i int) *entry { return &s.blocks[i/blockSize][i%blockSize] }

// index returns the position of a key, or -1.
func (s *shard) index(h uint32, key []byte) int {
	if s.n == 0 {
		return -1
	}
	for p := s.buckets[s.bucket(h)]; p != 0; {
		e := s.at(int(p - 1))
		if e.hash == h && s.same(e, key) {
			return int(p - 1)
		}
		p = e.next
	}
	return -1
}

func (s *shard) bucket(h uint32) uint32 { return h & uint32(len(s.buckets)-1) }

func (s *shard) find(h uint32, key []byte) *entry {
	if i := s.index(h, key); i >= 0 {
		return s.at(i)
	}
	return nil
}

// live is find that removes an expired session and returns nil for it.
func (s *shard) live(h uint32, key []byte, now int64, ttl time.Duration) *entry {
	i := s.index(h, key)
	if i < 0 {
		return nil
	}
	e := s.at(i)
	if expired(e, now, ttl) {
		s.remove(i)
		return nil
	}
	return e
}

func expired(e *entry, now int64, ttl time.Duration) bool {
	return e.standing != static && now-e.used > int64(ttl)
}

// insert adds a key that is not in the shard. If the shard is full it evicts another
// session. It returns nil if all sessions are static.
func (s *shard) insert(h uint32, key []byte, backend uint32, now int64) *entry {
	if s.n >= s.limit {
		other := s.spareable()
		if other < 0 {
			return nil
		}
		s.remove(other)
		s.forgotten.Add(1)
	}
	if s.n >= len(s.buckets) {
		s.grow()
	}
	i := s.n
	if i/blockSize == len(s.blocks) {
		s.blocks = append(s.blocks, (*[blockSize]entry)(s.source.take(kindEntries, len(s.blocks))))
	}
	s.n++
	s.counts[dynamic]++
	e := s.at(i)
	b := s.bucket(h)
	*e = entry{used: now, hash: h, backend: backend, next: s.buckets[b]}
	s.buckets[b] = uint32(i + 1)
	s.storeKey(e, key)
	e.seal(key)
	return e
}

// give assigns the session of e to backend.
func (s *shard) give(e *entry, key []byte, backend uint32) {
	if e.backend != backend {
		e.backend = backend
		e.seal(key)
	}
}

// grow doubles the index. With the size of shards this takes at most about ten
// microseconds. Entries do not move.
func (s *shard) grow() {
	s.buckets = make([]uint32, max(8, 2*len(s.buckets)))
	for i := range s.n {
		e := s.at(i)
		b := s.bucket(e.hash)
		e.next, s.buckets[b] = s.buckets[b], uint32(i+1)
	}
}

// prove marks e as the session of a returning client. Proven sessions are not evicted
// by new ones, so invented keys evict only each other. An eighth of the shard is
// reserved for sessions that are not proven. At that limit, the oldest proven session
// of a random sample becomes dynamic again.
func (s *shard) prove(e *entry) {
	if e.standing != dynamic {
		return
	}
	if s.counts[proven]+s.counts[static] >= s.limit-max(1, s.limit/8) {
		i := s.oldish(proven)
		if i < 0 {
			return
		}
		s.promote(s.at(i), dynamic)
	}
	s.promote(e, proven)
}

// promote changes the standing of e.
func (s *shard) promote(e *entry, to standing) {
	s.counts[e.standing]--
	s.counts[to]++
	e.standing = to
}

// spareable returns the entry to evict, or -1 if all are static. It prefers an old
// dynamic entry, then any dynamic one. If static and proven entries fill the shard, it
// returns an old proven one.
func (s *shard) spareable() int {
	if i := s.oldish(dynamic); i >= 0 {
		return i
	}
	for i := 0; s.counts[dynamic] > 0; i++ {
		if s.at(i).standing == dynamic {
			return i
		}
	}
	return s.oldish(proven)
}

// oldish returns the least recently used of up to eight random entries with the given
// standing, or -1 if 64 draws find none. An exact order would require a list that every
// Get updates.
func (s *shard) oldish(of standing) int {
	best, found := -1, 0
	if s.counts[of] == 0 {
		return -1
	}
	for k := 0; k < 64 && found < 8; k++ {
		i := rand.IntN(s.n)
		if e := s.at(i); e.standing == of {
			found++
			if best < 0 || e.used < s.at(best).used {
				best = i
			}
		}
	}
	return best
}

// spare is the number of unused blocks that a shard keeps for new sessions.
const spare = 8

// remove deletes entry i and moves the last one into its place.
func (s *shard) remove(i int) {
	*s.link(i) = s.at(i).next
	s.counts[s.at(i).standing]--
	s.dropKey(s.at(i))
	last := s.n - 1
	if i != last {
		*s.link(last) = uint32(i + 1)
		*s.at(i) = *s.at(last)
	}
	s.at(last).length = 0
	s.n = last
	if used := (last + blockSize - 1) / blockSize; len(s.blocks) > used+spare {
		end := len(s.blocks) - 1
		s.source.put(unsafe.Pointer(s.blocks[end]))
		s.blocks[end] = nil
		s.blocks = s.blocks[:end]
	}
}

// link returns the link to entry i: in its bucket or in the previous entry.
func (s *shard) link(i int) *uint32 {
	p := &s.buckets[s.bucket(s.at(i).hash)]
	for *p != uint32(i+1) {
		p = &s.at(int(*p - 1)).next
	}
	return p
}
