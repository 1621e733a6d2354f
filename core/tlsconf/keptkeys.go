package tlsconf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// KeptSize is the size in bytes of the memory for Tickets.Keep. Layout:
//
//	magic 8, due 8, number of keys 8, master keys 3 × 32, SHA-256 of all these 32
const KeptSize = keptSum + sha256.Size

const (
	keptMagic   = 0x534c5449434b4554 // "SLTICKET" as a number
	keptMasters = 24
	keptSum     = keptMasters + ticketKeys*masterLength
)

// ErrKept is returned if the memory for the keys is too small.
var ErrKept = errors.New("no memory for ticket keys")

// Keep stores the current and all future keys in mem. It first loads keys that an
// earlier process left there, whose tickets resume until their normal expiry. A partial
// write by a killed process counts as no keys. mem must stay mapped and be used by one
// process at a time. Keep must be called before any handshake.
func (t *Tickets) Keep(mem []byte) error {
	if len(mem) < KeptSize {
		return fmt.Errorf("%w: %d bytes, %d are needed", ErrKept, len(mem), KeptSize)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = mem[:KeptSize]
	if left, ok := t.recall(); ok {
		t.due.Store(int64(t.now().Sub(t.born) + left))
		if left <= 0 {
			t.push(rotations(-left))
			t.due.Store(int64(t.now().Sub(t.born) + TicketRotation))
		}
	}
	t.save()
	return nil
}

// recall loads the keys from memory and returns the time until the next rotation.
func (t *Tickets) recall() (left time.Duration, ok bool) {
	b := t.kept
	sum := sha256.Sum256(b[:keptSum])
	n := binary.LittleEndian.Uint64(b[16:])
	if binary.LittleEndian.Uint64(b) != keptMagic || !bytes.Equal(sum[:], b[keptSum:]) || n < 1 || n > ticketKeys {
		return 0, false
	}
	t.masters = nil
	for i := range int(n) {
		t.masters = append(t.masters, bytes.Clone(b[keptMasters+i*masterLength:][:masterLength]))
	}
	// The wall clock may have been changed since. No key may live longer because of
	// that.
	return min(time.Duration(int64(binary.LittleEndian.Uint64(b[8:]))-t.now().UnixNano()), TicketRotation), true
}

// save writes the keys to memory, the checksum last. t.mu must be held.
func (t *Tickets) save() {
	b := t.kept
	if b == nil {
		return
	}
	clear(b)
	binary.LittleEndian.PutUint64(b, keptMagic)
	due := t.now().Add(time.Duration(t.due.Load()) - t.now().Sub(t.born))
	binary.LittleEndian.PutUint64(b[8:], uint64(due.UnixNano()))
	binary.LittleEndian.PutUint64(b[16:], uint64(len(t.masters)))
	for i, master := range t.masters {
		copy(b[keptMasters+i*masterLength:], master)
	}
	sum := sha256.Sum256(b[:keptSum])
	copy(b[keptSum:], sum[:])
}
