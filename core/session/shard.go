package session

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
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
	used     int64  // time of last use
	hash     uint32 // low bits of the key's hash
	backend  uint32
	next     uint32       // next entry of the same bucket, as position + 1; 0 ends
	length   uint8        // of the key
	standing standing     // how it came to be there
	sum      uint16       // see seal
	key      [inline]byte // the key if it fits, else see long.go
}

// standing is how a session came to be in the table. The numbers are kept in shared memory.
type standing uint8

const (
	dynamic standing = iota // a client came once: it makes room for others
	static                  // an operator's: it lives until it is deleted
	proven                  // its client came back: see prove
	standings
)

// shard is a hash table with chains. Entries 0 … n-1 are in use, without
// gaps: removing moves the last one into the hole. Of the others the length is 0.
type shard struct {
	mu        sync.Mutex
	source    source // of blocks
	limit     int
	n         int
	counts    [standings]int // of them, by standing
	cursor    int            // where Sweep goes on, counting down
	buckets   []uint32       // position + 1 of the first entry; the length is a power of two
	blocks    []*[blockSize]entry
	slabs     *[classes]slab // of keys over inline bytes; nil without any
	forgotten *atomic.Uint64 // of the table
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
	return e.standing != static && now-e.used > int64(ttl)
}

// insert adds a key that is not there, instead of another if the shard is
// full. nil means that all of it is static.
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

// prove notes that the client of e came back. Sessions that are proven do not
// make room for new ones, so that whoever invents keys displaces what was
// invented, and not the clients of others. An eighth of the shard is never
// proven, for the new ones: when it is due, the proven one unused for longest, of
// a few, has to prove itself again.
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

// promote gives e another standing.
func (s *shard) promote(e *entry, to standing) {
	s.counts[e.standing]--
	s.counts[to]++
	e.standing = to
}

// spareable returns an entry that makes room, -1 when all are static: an old one
// that is not proven, any of these, then, when static ones take the room of all
// of them, an old one that is.
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

// oldish returns the entry of a standing that was unused for longest, among eight
// drawn at random. An exact order would cost a list to maintain on every Get. -1
// when none of many draws is of it.
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

// spare is how many unused blocks a shard keeps for the sessions to come.
const spare = 8

// remove takes out entry i and moves the last one into its place.
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

// link returns what points at entry i: its bucket or the entry before it.
func (s *shard) link(i int) *uint32 {
	p := &s.buckets[s.bucket(s.at(i).hash)]
	for *p != uint32(i+1) {
		p = &s.at(int(*p - 1)).next
	}
	return p
}
