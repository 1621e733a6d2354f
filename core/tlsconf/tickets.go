package tlsconf

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// TicketRotation is how long a master key encrypts new tickets. With three keys, a
// ticket resumes for 16 to 24 hours.
const (
	TicketRotation = 8 * time.Hour
	ticketKeys     = 3
	masterLength   = 32 // bytes of a master key
)

// Tickets holds the master keys of session tickets. The loops, farms and snapshots of a
// process derive their keys from one set. A derived key is bound to a policy, so a
// ticket is useless under a different policy.
//
// Keys rotate by time when a handshake needs them; calling Rotate is not necessary.
// They are held in memory only; see Keep. Tickets is safe for concurrent use.
type Tickets struct {
	now  func() time.Time
	born time.Time
	// due is the time of the next rotation, in nanoseconds after born. epoch is
	// incremented by every rotation. Each handshake reads both without the lock.
	due   atomic.Int64
	epoch atomic.Uint64

	mu      sync.Mutex
	masters [][]byte // newest first
	kept    []byte   // memory for the next process, or nil
}

// NewTickets returns a set with one new key. now is the clock; nil means time.Now.
func NewTickets(now func() time.Time) *Tickets {
	if now == nil {
		now = time.Now
	}
	t := &Tickets{now: now, born: now()}
	t.push(1)
	t.due.Store(int64(TicketRotation))
	return t
}

// Rotate creates a new key at once, e.g. because one may have leaked. After three calls
// no older ticket resumes.
func (t *Tickets) Rotate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.push(1)
	t.due.Store(int64(t.now().Sub(t.born) + TicketRotation))
	t.save()
}

// push adds n new keys and deletes those beyond ticketKeys.
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

// current performs the rotations due at now and returns the epoch. Periods without
// handshakes count, so keys expire on schedule.
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

// rotations returns the number of rotations due if the first is late by the given time.
func rotations(late time.Duration) int { return 1 + int(min(late/TicketRotation, ticketKeys)) }

// keys returns the ticket keys of a policy, newest first, and their epoch.
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
