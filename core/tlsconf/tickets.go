package tlsconf

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// How long a master key encrypts new tickets, and how many are kept: a ticket
// resumes for 16 to 24 hours.
const (
	TicketRotation = 8 * time.Hour
	ticketKeys     = 3
	masterLength   = 32 // bytes of a master key
)

// Tickets are the master keys of session tickets, one set for the process: all
// loops, farms and snapshots derive theirs from it. A derived key is bound to
// a policy, so a ticket is no more than random bytes where other rules hold.
//
// Keys rotate by time when a handshake asks for them; nobody has to call
// Rotate. They lie in memory only: see Keep. Any goroutine may use it.
type Tickets struct {
	now  func() time.Time
	born time.Time
	// due is when the next rotation is, in nanoseconds after born; epoch grows
	// with every rotation. Both are read without the lock at each handshake.
	due   atomic.Int64
	epoch atomic.Uint64

	mu      sync.Mutex
	masters [][]byte // newest first
	kept    []byte   // where they are for the next process, nil for nowhere
}

// NewTickets makes a set with one fresh key. now is the clock; nil is time.Now.
func NewTickets(now func() time.Time) *Tickets {
	if now == nil {
		now = time.Now
	}
	t := &Tickets{now: now, born: now()}
	t.push(1)
	t.due.Store(int64(TicketRotation))
	return t
}

// Rotate makes a new key at once, for instance because one may have leaked:
// called three times, no older ticket resumes.
func (t *Tickets) Rotate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.push(1)
	t.due.Store(int64(t.now().Sub(t.born) + TicketRotation))
	t.save()
}

// push adds n new keys and forgets those beyond ticketKeys.
func (t *Tickets) push(n int) {
	for range min(n, ticketKeys) {
		key := make([]byte, masterLength)
		rand.Read(key) // never fails (crypto/rand)
		t.masters = append([][]byte{key}, t.masters...)
	}
	for len(t.masters) > ticketKeys {
		last := len(t.masters) - 1
		clear(t.masters[last])
		t.masters = t.masters[:last:last]
	}
	t.epoch.Add(1)
}

// current is the epoch of a time, after the rotations that are due. Periods
// without a handshake count: their keys would have been forgotten too.
func (t *Tickets) current(now time.Time) uint64 {
	age := int64(now.Sub(t.born))
	if age < t.due.Load() {
		return t.epoch.Load()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if late := age - t.due.Load(); late >= 0 {
		t.push(rotations(time.Duration(late)))
		t.due.Store(age + int64(TicketRotation))
		t.save()
	}
	return t.epoch.Load()
}

// rotations is how many are due that long after the first was.
func rotations(late time.Duration) int { return 1 + int(min(late/TicketRotation, ticketKeys)) }

// keys derives the ticket keys of a policy, newest first, and tells of which
// epoch they are.
func (t *Tickets) keys(policy digest) ([][32]byte, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([][32]byte, len(t.masters))
	for i, master := range t.masters {
		key, err := hkdf.Key(sha256.New, master, nil, "sluice session tickets 1"+string(policy[:]), 32)
		if err != nil {
			panic(err) // 32 bytes are never too many for HKDF
		}
		out[i] = [32]byte(key)
	}
	return out, t.epoch.Load()
}
