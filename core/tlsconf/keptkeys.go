package tlsconf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// KeptSize is how many bytes of memory Tickets.Keep wants.
//
//	magic 8, due 8, keys 8, masters 3 × 32, SHA-256 of all these 32
const KeptSize = keptSum + sha256.Size

const (
	keptMagic   = 0x534c5449434b4554 // "SLTICKET" read as a number
	keptMasters = 24
	keptSum     = keptMasters + ticketKeys*masterLength
)

// ErrKept occurs when there is too little memory to keep keys in.
var ErrKept = errors.New("no memory for ticket keys")

// Keep has the keys of all rotations to come in mem, and begins with those that
// an earlier process left there: its tickets resume for as long as they would
// have. Keys that were being written when it was killed count as none. mem stays
// mapped for good and has one process at a time. Call it before any handshake.
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

// recall takes the keys out of memory and tells when the next rotation is due.
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
	// The wall clock may have been set since: no key lives longer for that.
	return min(time.Duration(int64(binary.LittleEndian.Uint64(b[8:]))-t.now().UnixNano()), TicketRotation), true
}

// save puts the keys into memory, the sum last; the lock is held.
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
