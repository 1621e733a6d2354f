package session

import (
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"
)

// inline is the longest key kept inside its entry: enough for addresses,
// UUIDs and the session cookies of the usual application servers.
const inline = 40

// blockSize is how many entries are allocated together: they fill a block of
// memory (blockBytes), a page, small enough that 256 shards with one session
// each stay cheap.
const blockSize = blockBytes / 64

// entry is one session in 64 bytes without pointers.
type entry struct {
	used    int64  // time of last use
	hash    uint32 // low bits of the key's hash
	backend uint32
	next    uint32       // next entry of the same bucket, as position + 1; 0 ends
	length  uint8        // of the key
	static  bool         // an operator's: it lives until it is deleted
	sum     uint16       // see seal
	key     [inline]byte // the key if it fits, else see long.go
}

// shard is a hash table with chains. Entries 0 … n-1 are in use, without
// gaps: removing moves the last one into the hole. Of the others the length is 0.
type shard struct {
	mu      sync.Mutex
	source  source // of blocks
	limit   int
	n       int
	cursor  int      // where Sweep goes on, counting down
	buckets []uint32 // position + 1 of the first entry; the length is a power of two
	blocks  []*[blockSize]entry
	slabs   *[classes]slab // of keys over inline bytes; nil without any
	_       [16]byte       // neighbours' locks in other cache lines
}

func (s *shard) at(i int) *entry { return &s.blocks[i/blockSize][i%blockSize] }

// index returns the position of a key, -1 if it is not there.
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

// live is find without expired sessions: one that is met is removed.
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
	return !e.static && now-e.used > int64(ttl)
}

// insert adds a key that is not there, in the place of an old one if the shard
// is full. nil means that all of it is static.
func (s *shard) insert(h uint32, key []byte, backend uint32, now int64) *entry {
	if s.n >= s.limit {
		old := s.oldish()
		if old < 0 {
			return nil
		}
		s.remove(old)
	}
	if s.n >= len(s.buckets) {
		s.grow()
	}
	i := s.n
	if i/blockSize == len(s.blocks) {
		s.blocks = append(s.blocks, (*[blockSize]entry)(s.source.take(kindEntries, len(s.blocks))))
	}
	s.n++
	e := s.at(i)
	b := s.bucket(h)
	*e = entry{used: now, hash: h, backend: backend, next: s.buckets[b]}
	s.buckets[b] = uint32(i + 1)
	s.storeKey(e, key)
	e.seal(key)
	return e
}

// give makes the session of e that of backend.
func (s *shard) give(e *entry, key []byte, backend uint32) {
	if e.backend != backend {
		e.backend = backend
		e.seal(key)
	}
}

// grow doubles the index. At the size shards are made for it takes some ten
// microseconds at most; entries stay where they are.
func (s *shard) grow() {
	s.buckets = make([]uint32, max(8, 2*len(s.buckets)))
	for i := range s.n {
		e := s.at(i)
		b := s.bucket(e.hash)
		e.next, s.buckets[b] = s.buckets[b], uint32(i+1)
	}
}

// oldish returns the entry unused for longest among eight drawn at random. An
// exact order would cost a list to maintain on every Get. Static ones are spared:
// -1 when none of many more draws is another.
func (s *shard) oldish() int {
	best := -1
	for k := 0; k < 8 || best < 0 && k < 64; k++ {
		if i := rand.IntN(s.n); !s.at(i).static && (best < 0 || s.at(i).used < s.at(best).used) {
			best = i
		}
	}
	return best
}

// spare is how many unused blocks a shard keeps for the sessions to come.
const spare = 8

// remove takes out entry i and moves the last one into its place.
func (s *shard) remove(i int) {
	*s.link(i) = s.at(i).next
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

// link returns what points at entry i: its bucket or the entry before it.
func (s *shard) link(i int) *uint32 {
	p := &s.buckets[s.bucket(s.at(i).hash)]
	for *p != uint32(i+1) {
		p = &s.at(int(*p - 1)).next
	}
	return p
}
