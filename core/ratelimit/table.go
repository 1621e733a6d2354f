package ratelimit

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync/atomic"
	"time"
)

// Slots is how many keys a table remembers.
const Slots = pages * pageBuckets * ways

const (
	pages       = 256
	pageBuckets = 32
	ways        = 8
	// attempts bounds the search for a slot in a bucket that changes under it.
	// Each one that fails is a success of another loop.
	attempts = 64
)

// Table is what the keys of one service have used up. Any goroutine may use
// it. Use NewTable.
type Table struct {
	addresses, texts maphash.Seed // apart: no text stands for an address
	pages            [pages]atomic.Pointer[page]
}

type (
	page   [pageBuckets]bucket
	bucket [ways]slot
)

// slot is free while key is 0.
type slot struct {
	key     atomic.Uint64
	arrival atomic.Int64 // theoretical, nanoseconds on the caller's clock
}

// Key is a hash of what identifies a client; keys of different tables have
// nothing to do with each other.
type Key uint64

// NewTable makes an empty table. It takes memory as keys come, 1 MiB at most.
func NewTable() *Table {
	return &Table{addresses: maphash.MakeSeed(), texts: maphash.MakeSeed()}
}

// Address is the key of a client's address. IPv6 clients of one /64 share it:
// a subscriber has that many addresses to choose from.
func (t *Table) Address(a netip.Addr) Key {
	b := a.As16() // IPv4 as it is mapped
	n := len(b)
	if a.Is6() && !a.Is4In6() {
		n = 8
	}
	return key(maphash.Bytes(t.addresses, b[:n]))
}

// Text is the key of a header's value or a path. It is only read.
func (t *Table) Text(b []byte) Key { return key(maphash.Bytes(t.texts, b)) }

func key(h uint64) Key { return Key(max(h, 1)) }

// Take lets a request of the key pass and charges it, or returns after how many
// nanoseconds it would pass. now is on any clock that does not go back and is
// positive, the same for all calls. 0 allocations but for the pages; some 30 ns.
func (t *Table) Take(k Key, now int64, l Limit) (wait int64) {
	b := t.bucket(k)
	for range attempts {
		s := b.find(k)
		if s == nil {
			s = b.claim(k, now)
		}
		if s != nil {
			return s.take(now, l)
		}
	}
	return 0
}

// Refund gives back what one Take charged the key, for what turned out to cost
// nothing. It does nothing once that is paid off.
func (t *Table) Refund(k Key, l Limit) {
	if s := t.bucket(k).find(k); s != nil {
		s.arrival.Add(-l.interval)
	}
}

// Peek is Take without charging.
func (t *Table) Peek(k Key, now int64, l Limit) (wait int64) {
	s := t.known(k)
	if s == nil {
		return 0
	}
	return max(0, l.wait(max(s.arrival.Load(), now), now))
}

// Owes is how many requests the key has not paid off by waiting, a part of one
// counting as a whole.
func (t *Table) Owes(k Key, now int64, l Limit) int64 {
	s := t.known(k)
	if s == nil {
		return 0
	}
	return (max(s.arrival.Load()-now, 0) + l.interval - 1) / l.interval
}

// known is the slot of a key that was charged; nil for any other.
func (t *Table) known(k Key) *slot {
	p := t.pages[uint64(k)%pages].Load()
	if p == nil {
		return nil
	}
	return p[uint64(k)/pages%pageBuckets].find(k)
}

func (t *Table) bucket(k Key) *bucket {
	at := &t.pages[uint64(k)%pages]
	p := at.Load()
	if p == nil {
		p = new(page)
		if !at.CompareAndSwap(nil, p) {
			p = at.Load()
		}
	}
	return &p[uint64(k)/pages%pageBuckets]
}

func (b *bucket) find(k Key) *slot {
	for i := range b {
		if b[i].key.Load() == uint64(k) {
			return &b[i]
		}
	}
	return nil
}

// claim takes a slot for a key that has none: a free one, else the one that
// owes least. nil means that it was somebody else's when it was to be taken.
// Loops that look at the same time choose the same one, so that a key does not
// get two.
func (b *bucket) claim(k Key, now int64) *slot {
	var least *slot
	var owner uint64
	owes := int64(math.MaxInt64)
	for i := range b {
		s := &b[i]
		had := s.key.Load()
		if had == 0 {
			least, owner, owes = s, 0, now
			break // nothing was ever behind it
		}
		if arrival := max(s.arrival.Load(), now); arrival < owes {
			least, owner, owes = s, had, arrival
		}
	}
	// What is owed is dropped before the slot changes hands: the newcomer must
	// not inherit it.
	if owes > now && !least.arrival.CompareAndSwap(owes, 0) || !least.key.CompareAndSwap(owner, uint64(k)) {
		return nil
	}
	return least
}

func (s *slot) take(now int64, l Limit) (wait int64) {
	for {
		kept := s.arrival.Load()
		arrival := max(kept, now)
		if wait = l.wait(arrival, now); wait > 0 {
			return wait
		}
		if s.arrival.CompareAndSwap(kept, arrival+l.interval) {
			return 0
		}
	}
}

// Limit is how many requests a key may make. The zero value is not usable;
// limits can be compared. What a table holds is in the time of one limit: use
// another table with another one.
type Limit struct {
	interval int64 // nanoseconds between requests at the even pace
	burst    int64 // nanoseconds the requests that came at once take at that pace
}

// New returns the limit of that many requests per period, of which burst may
// come at once. Requests and burst are 1–1,000,000, a period lasts from a second
// to an hour.
func New(requests int, period time.Duration, burst int) Limit {
	interval := int64(period) / int64(requests)
	return Limit{interval: interval, burst: interval * int64(burst)}
}

// wait is how long after now a request with that arrival time passes; it does
// at once if that is not positive.
func (l Limit) wait(arrival, now int64) int64 { return arrival + l.interval - l.burst - now }
