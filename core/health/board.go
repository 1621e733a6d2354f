package health

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

// BoardSize is the size of a board in bytes (4 MiB, of which only the pages
// of slots in use take memory).
const BoardSize = int(unsafe.Sizeof(Board{}))

// magic is "SLHEALTH" read as a number, with the layout version below it.
const magic = 0x534c4845414c5448

// layout grows whenever the meaning or offset of a word in Board changes.
const layout = 2

// ErrBoard occurs when memory does not hold a board of this layout.
var ErrBoard = errors.New("no status board")

// Board is the status board. It is never made, only found in shared memory by
// OpenBoard:
//
//	0        magic, layout, version of each writer
//	64       slot 0 (unused), slot 1, … slot farm.MaxBackendID, 64 bytes each
type Board struct {
	_ shm.Header
	// Each writer counts for itself; the version is the sum.
	passive  atomic.Uint64
	guardian atomic.Uint64
	_        [32]byte
	slots    [farm.MaxBackendID + 1]Slot
}

// OpenBoard returns the board in mem, at least BoardSize bytes of shared
// memory mapped for writing. Zeroed memory is an empty board. Anything else
// than a board of this layout is refused with ErrBoard.
func OpenBoard(mem []byte) (*Board, error) {
	b, err := shm.Create[Board](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBoard, err)
	}
	return b, nil
}

// Slot returns the slot of a backend ID, always the same one. Only the low 16
// bits of id count; a checked configuration has no higher IDs.
func (b *Board) Slot(id uint32) *Slot { return &b.slots[id&farm.MaxBackendID] }

// Version grows with every change of any backend's usability. It may also grow
// when a finding changed that the other writer's finding outweighs.
func (b *Board) Version() uint64 { return b.passive.Load() + b.guardian.Load() }

// SetPassive writes what an engine found in passing, and tells whether that
// changed its finding. Of several loops that report at once, each change is
// told to one. Any s but Up and Down counts as Undefined.
func (b *Board) SetPassive(id uint32, s State, at time.Time) bool {
	slot := b.Slot(id)
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &b.passive, s, at)
}

// SetApart is SetPassive for a slot that is not on the board, in memory of the
// engine: for what holds of one port of a backend and says nothing of others.
func (b *Board) SetApart(slot *Slot, s State, at time.Time) bool {
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &b.passive, s, at)
}

// SetGuardian writes what mgmt found by probing, and tells whether that
// changed its finding. Any s but Up and Down counts as Undefined.
func (b *Board) SetGuardian(id uint32, s State, at time.Time) bool {
	slot := b.Slot(id)
	return set(&slot.guardian, &slot.guardianAt, &slot.passive, &b.guardian, s, at)
}

// set stores a finding. The order matters: a reader that sees the new version
// must see the finding, so the count comes last; the other finding is read on
// both sides of the store, so that of two writers whose changes together turn
// the status, the later one dates it.
func set(own *atomic.Uint32, ownAt *atomic.Int64, other *atomic.Uint32, version *atomic.Uint64, s State, at time.Time) bool {
	s = s.known()
	before := State(other.Load())
	old := State(own.Swap(uint32(s)))
	if old == s {
		return false
	}
	if combine(old, before) != combine(s, State(other.Load())) {
		ownAt.Store(at.UnixNano())
	}
	if (old == Down) != (s == Down) {
		version.Add(1)
	}
	return true
}

// Adopt gives the slot of id to owner, a number that no two backends ever
// share (0 is nobody). When it belonged to another one, which had the same ID
// earlier, everything known is forgotten. To be called before a configuration
// with the new owner is published.
func (b *Board) Adopt(id uint32, owner uint64) {
	s := b.Slot(id)
	old := s.owner.Load()
	if old == owner || !s.owner.CompareAndSwap(old, owner) {
		return
	}
	passive, guardian := s.passive.Swap(0), s.guardian.Swap(0)
	s.passiveAt.Store(0)
	s.guardianAt.Store(0)
	ejected := s.ejected.Swap(0)
	s.failures.Store(0)
	s.times.Store(0)
	s.ejectedUntil.Store(0)
	if State(passive) == Down || State(guardian) == Down || ejected != 0 {
		b.passive.Add(1)
	}
}
