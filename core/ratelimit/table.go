package ratelimit

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync/atomic"
	"time"
)

// Slots is the number of keys in a table.
const Slots = pages * pageBuckets * ways

const (
	pages       = 256
	pageBuckets = 32
	ways        = 8
	// attempts limits the search for a slot in a bucket that other loops change. Each
	// failure means that another loop succeeded.
	attempts = 64
)

// Table holds the consumption of the keys of one service. It is safe for concurrent
// use. Tables are created by NewTable.
type Table struct {
	addresses, texts maphash.Seed // separate seeds: no text collides with an address on purpose
	pages            [pages]atomic.Pointer[page]
}

type (
	page   [pageBuckets]bucket
	bucket [ways]slot
)

// slot is free while key is 0.
type slot struct {
	key     atomic.Uint64
	arrival atomic.Int64 // theoretical arrival time, nanoseconds on the caller's clock
}

// Key is a hash that identifies a client within one table.
type Key uint64

// NewTable returns an empty table. Memory is allocated as keys are added, at most 1
// MiB.
func NewTable() *Table {
	return &Table{addresses: maphash.MakeSeed(), texts: maphash.MakeSeed()}
}

// Address returns the key of a client's address. IPv6 addresses in the same /64 share a
// key, because a subscriber can use all of them.
func (t *Table) Address(a netip.Addr) Key {
	b := a.As16() // IPv4 is mapped
	n := len(b)
	if a.Is6() && !a.Is4In6() {
		n = 8
	}
	return key(maphash.Bytes(t.addresses, b[:n]))
}

// Text returns the key of a header value or a path. It does not retain b.
func (t *Table) Text(b []byte) Key { return key(maphash.Bytes(t.texts, b)) }

func key(h uint64) Key { return Key(max(h, 1)) }

// Take accepts a request of the key and charges it, or returns the nanoseconds until it
// would be accepted. now must be positive and come from one monotonic clock for all
// calls. Take costs about 30 ns and allocates only pages.
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

// Refund reverts the charge of one Take, e.g. for a request without cost. After the
// debt has been paid off it has no effect.
func (t *Table) Refund(k Key, l Limit) {
	if s := t.bucket(k).find(k); s != nil {
		s.arrival.Add(-l.interval)
	}
}

// Peek is Take without the charge.
func (t *Table) Peek(k Key, now int64, l Limit) (wait int64) {
	s := t.known(k)
	if s == nil {
		return 0
	}
	return max(0, l.wait(max(s.arrival.Load(), now), now))
}

// Owes returns the number of requests, rounded up, that the key has not paid off yet.
func (t *Table) Owes(k Key, now int64, l Limit) int64 {
	s := t.known(k)
	if s == nil {
		return 0
	}
	return (max(s.arrival.Load()-now, 0) + l.interval - 1) / l.interval
}

// known returns the slot of a key, or nil.
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

// claim assigns a slot to a key without one: a free slot or the one with the smallest
// debt. It returns nil if another loop took the slot first. Concurrent loops choose the
// same slot, so a key does not get two.
func (b *bucket) claim(k Key, now int64) *slot {
	var least *slot
	var owner uint64
	owes := int64(math.MaxInt64)
	for i := range b {
		s := &b[i]
		had := s.key.Load()
		if had == 0 {
			least, owner, owes = s, 0, now
			break // later slots were never used
		}
		if arrival := max(s.arrival.Load(), now); arrival < owes {
			least, owner, owes = s, had, arrival
		}
	}
	// The debt is cleared before the slot is reassigned, so that the new key does not
	// inherit it.
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

// Limit is the permitted request rate of a key. The zero value is not usable; limits
// are comparable. The content of a table is relative to one limit, so each limit needs
// its own table.
type Limit struct {
	interval int64 // nanoseconds between requests at the steady rate
	burst    int64 // nanoseconds that a full burst takes at that rate
}

// New returns a limit of requests per period; burst of them may arrive at once. The numbers
// requests and burst are 1–1,000,000, and period is between a second and an hour.
func New(requests int, period time.Duration, burst int) Limit {
	interval := int64(period) / int64(requests)
	return Limit{interval: interval, burst: interval * int64(burst)}
}

// wait returns the nanoseconds until a request with that arrival time is accepted.
// Values up to 0 mean immediately.
func (l Limit) wait(arrival, now int64) int64 { return arrival + l.interval - l.burst - now }
