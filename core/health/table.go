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

// TableSize is the size of a table in bytes (4 MiB, of which only the pages
// of slots in use take memory).
const TableSize = int(unsafe.Sizeof(Table{}))

// magic is "SLHEALTH" read as a number, with the layout version below it.
const magic = 0x534c4845414c5448

// layout grows whenever the meaning or offset of a word in Table changes.
const layout = 2

// ErrTable occurs when memory does not hold a table of this layout.
var ErrTable = errors.New("no health table")

// Table is the health table. It is never made, only found in shared memory by
// OpenTable:
//
//	0        magic, layout, version of each writer
//	64       slot 0 (unused), slot 1, … slot farm.MaxBackendID, 64 bytes each
type Table struct {
	_ shm.Header
	// Each writer counts for itself; the version is the sum.
	passive  atomic.Uint64
	guardian atomic.Uint64
	_        [32]byte
	slots    [farm.MaxBackendID + 1]Slot
}

// OpenTable returns the table in mem, at least TableSize bytes of shared
// memory mapped for writing. Zeroed memory is an empty table. Anything else
// than a table of this layout is refused with ErrTable.
func OpenTable(mem []byte) (*Table, error) {
	t, err := shm.Create[Table](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	return t, nil
}

// Slot returns the slot of a backend ID, always the same one. Only the low 16
// bits of id count; a checked configuration has no higher IDs.
func (t *Table) Slot(id uint32) *Slot { return &t.slots[id&farm.MaxBackendID] }

// Version grows with every change of any backend's usability. It may also grow
// when a finding changed that the other writer's finding outweighs.
func (t *Table) Version() uint64 { return t.passive.Load() + t.guardian.Load() }

// SetPassive writes what an engine found in passing, and tells whether that
// changed its finding. Of several loops that report at once, each change is
// told to one. Any s but Up and Down counts as Undefined.
func (t *Table) SetPassive(id uint32, s State, at time.Time) bool {
	slot := t.Slot(id)
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &t.passive, s, at)
}

// SetApart is SetPassive for a slot that is not in the table, in memory of the
// engine: for what holds of one port of a backend and says nothing of others.
func (t *Table) SetApart(slot *Slot, s State, at time.Time) bool {
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &t.passive, s, at)
}

// SetGuardian writes what mgmt found by probing, and tells whether that
// changed its finding. Any s but Up and Down counts as Undefined.
func (t *Table) SetGuardian(id uint32, s State, at time.Time) bool {
	slot := t.Slot(id)
	return set(&slot.guardian, &slot.guardianAt, &slot.passive, &t.guardian, s, at)
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
func (t *Table) Adopt(id uint32, owner uint64) {
	s := t.Slot(id)
	old := s.owner.Load()
	if old == owner || !s.owner.CompareAndSwap(old, owner) {
		return
	}
	passive, guardian := s.passive.Swap(0), s.guardian.Swap(0)
	s.passiveAt.Store(0)
	s.guardianAt.Store(0)
	ejected := s.ejected.Swap(0)
	s.failures.Store(0)
	s.ejectedUntil.Store(0) // the next ejection is the first
	if State(passive) == Down || State(guardian) == Down || ejected != 0 {
		t.passive.Add(1)
	}
}
