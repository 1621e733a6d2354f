package health

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

// State is one finding about one backend.
type State uint32

// The findings. Undefined is the zero value: nothing is known.
const (
	Undefined State = iota
	Up
	Down
	// Unable is written by the guardian alone: no check can find out. It counts as
	// Undefined everywhere but in Slot.Unable.
	Unable
)

// String returns the word the API uses for the state.
func (s State) String() string { return string(s.status()) }

func (s State) status() farm.Status {
	switch s {
	case Up:
		return farm.StatusUp
	case Down:
		return farm.StatusDown
	}
	return farm.StatusUndefined
}

// known maps values that are no state, as foreign memory may hold, to
// Undefined.
func (s State) known() State {
	if s > Down {
		return Undefined
	}
	return s
}

// combine is the state two findings make together: one Down is enough for
// Down, else one Up for Up.
func combine(a, b State) State { return max(a.known(), b.known()) }

// Slot holds what is known of one backend. It lives in shared memory.
type Slot struct {
	passive    atomic.Uint32
	guardian   atomic.Uint32
	passiveAt  atomic.Int64 // when this writer last turned the status, Unix ns
	guardianAt atomic.Int64
	owner      atomic.Uint64

	// What follows is the engine's, see Eject.
	ejected      atomic.Uint32 // 1 while it is
	failures     atomic.Uint32 // in a row
	last         atomic.Uint32 // ejection: how often one came soon after the other, and its Cause in the low byte
	latency      atomic.Uint32 // mgmt's: see Latency
	ejectedAt    atomic.Int64  // Unix ns
	ejectedUntil atomic.Int64
}

// Usable tells whether the backend may be picked: nobody found it down, and it
// is not ejected.
//
// Hot path: at most three atomic loads of one cache line, inlined, 0 allocations.
func (s *Slot) Usable() bool {
	return s.passive.Load() != uint32(Down) && s.guardian.Load() != uint32(Down) && s.ejected.Load() == 0
}

// Missed tells whether nothing but the engine's own finding keeps the backend from
// being picked, if anything does: connects to it failed.
func (s *Slot) Missed() bool {
	return s.guardian.Load() != uint32(Down) && s.ejected.Load() == 0
}

// Status returns up, down or undefined. One that is ejected is down: it gets no
// traffic.
func (s *Slot) Status() farm.Status {
	if s.Ejected() {
		return farm.StatusDown
	}
	return combine(s.Passive(), s.Guardian()).status()
}

// Passive returns the engine's own finding.
func (s *Slot) Passive() State { return State(s.passive.Load()).known() }

// Unable reports whether the guardian said that no check can find out how the backend is,
// and nothing else is known of it.
//
// Hot path: two atomic loads, 0 allocations.
func (s *Slot) Unable() bool {
	return s.guardian.Load() == uint32(Unable) && s.passive.Load() == uint32(Undefined)
}

// Guardian returns mgmt's finding.
func (s *Slot) Guardian() State { return State(s.guardian.Load()).known() }

// Latency is how long the backend lately took to answer probes, in whole microseconds;
// 0 when that is not known.
func (s *Slot) Latency() time.Duration { return time.Duration(s.latency.Load()) * time.Microsecond }

// SetLatency writes it; what is shorter than a microsecond is one, and what is not
// positive is not known.
func (s *Slot) SetLatency(d time.Duration) {
	if d > 0 {
		d = max(d, time.Microsecond)
	}
	s.latency.Store(uint32(min(max(d, 0)/time.Microsecond, math.MaxUint32)))
}

// Since returns when Status took its present value; the zero time when it
// never changed.
func (s *Slot) Since() time.Time {
	at := max(s.passiveAt.Load(), s.guardianAt.Load())
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// Reached returns when the engine last turned the status to up, Unix ns; 1 if its finding
// is up and turned nothing, 0 while it is another.
func (s *Slot) Reached() int64 { return upAt(&s.passive, &s.passiveAt) }

// Confirmed is Reached for the guardian.
func (s *Slot) Confirmed() int64 { return upAt(&s.guardian, &s.guardianAt) }

func upAt(state *atomic.Uint32, at *atomic.Int64) int64 {
	if state.Load() != uint32(Up) {
		return 0
	}
	return max(1, at.Load())
}

// Readmitted returns when the last ejection ended, Unix ns; 0 if there was none, or the
// backend is ejected.
func (s *Slot) Readmitted() int64 {
	if s.Ejected() {
		return 0
	}
	return s.ejectedUntil.Load()
}

// TableSize is the size of a table in bytes (4¼ MiB, of which only the pages
// of slots in use take memory).
const TableSize = int(unsafe.Sizeof(Table{}))

// magic is "SLHEALTH" read as a number, with the layout version below it.
const magic = 0x534c4845414c5448

// layout grows whenever the meaning or offset of a word in Table changes.
const layout = 4

// ErrTable occurs when memory does not hold a table of this layout.
var ErrTable = errors.New("no health table")

// Table is the health table. It is never made, only found in shared memory by
// OpenTable:
//
//	0        magic, layout, version of each writer
//	64       slot 0 (unused), slot 1, … slot farm.MaxBackendID, 64 bytes each
//	         load of backend 0 (unused), 1, … farm.MaxBackendID, 4 bytes each
type Table struct {
	_ shm.Header
	// Each writer counts for itself; the version is the sum.
	passive  atomic.Uint64
	guardian atomic.Uint64
	_        [32]byte
	slots    [farm.MaxBackendID + 1]Slot
	loads    [farm.MaxBackendID + 1]atomic.Uint32 // mgmt's: one more than Load, 0 for not known
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

// Load is how much a backend lately had to do, as mgmt was told: the connections that
// are open to it. known is false while nobody told.
//
// Hot path: one atomic load, 0 allocations.
func (t *Table) Load(id uint32) (n uint32, known bool) {
	n = t.loads[id&farm.MaxBackendID].Load()
	return n - min(n, 1), n > 0
}

// SetLoad writes it; ForgetLoad makes it one nobody told.
func (t *Table) SetLoad(id, n uint32) {
	t.loads[id&farm.MaxBackendID].Store(min(n, math.MaxUint32-1) + 1)
}

// ForgetLoad is for a backend nobody tells of any more.
func (t *Table) ForgetLoad(id uint32) { t.loads[id&farm.MaxBackendID].Store(0) }

// Version grows with every change of any backend's usability. It may also grow
// when a finding changed that the other writer's finding outweighs.
func (t *Table) Version() uint64 { return t.passive.Load() + t.guardian.Load() }

// SetPassive writes what an engine found in passing, and tells whether that
// changed its finding. Of several loops that report at once, each change is
// told to one. Any s but Up and Down counts as Undefined.
func (t *Table) SetPassive(id uint32, s State, at time.Time) bool {
	slot := t.Slot(id)
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &t.passive, s.known(), at)
}

// SetApart is SetPassive for a slot that is not in the table, in memory of the
// engine: for what holds of one port of a backend and says nothing of others.
func (t *Table) SetApart(slot *Slot, s State, at time.Time) bool {
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &t.passive, s.known(), at)
}

// SetGuardian writes what mgmt found by probing, and tells whether that
// changed its finding. Any s but Up, Down and Unable counts as Undefined.
func (t *Table) SetGuardian(id uint32, s State, at time.Time) bool {
	slot := t.Slot(id)
	if s != Unable {
		s = s.known()
	}
	return set(&slot.guardian, &slot.guardianAt, &slot.passive, &t.guardian, s, at)
}

// set stores a finding. The order matters: a reader that sees the new version
// must see the finding, so the count comes last; the other finding is read on
// both sides of the store, so that of two writers whose changes together turn
// the status, the later one dates it.
func set(own *atomic.Uint32, ownAt *atomic.Int64, other *atomic.Uint32, version *atomic.Uint64, s State, at time.Time) bool {
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

// Adopt gives the slot of id to owner, a number that no two backends ever share (0 is
// nobody). If another backend had the ID before, everything the engine found out about
// that one is forgotten. mgmt's words (verdict, latency, load) stay: they may already be
// about the new owner, because probes do not wait for the engine, and the guardian
// clears its words itself when an ID changes hands. To be called before a configuration
// with the new owner is published.
func (t *Table) Adopt(id uint32, owner uint64) {
	s := t.Slot(id)
	old := s.owner.Load()
	if old == owner || !s.owner.CompareAndSwap(old, owner) {
		return
	}
	passive := s.passive.Swap(0)
	s.passiveAt.Store(0)
	ejected := s.ejected.Swap(0)
	s.failures.Store(0)
	s.ejectedUntil.Store(0) // the next ejection is the first
	if State(passive) == Down || ejected != 0 {
		t.passive.Add(1)
	}
}
