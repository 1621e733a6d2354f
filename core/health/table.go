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

// State is one finding about a backend.
type State uint32

// The findings. Undefined, the zero value, means unknown.
const (
	Undefined State = iota
	Up
	Down
	// Unable is only written by the guardian: no check can find out the state. It counts as
	// Undefined everywhere except in Slot.Unable.
	Unable
)

// String returns the API's word for the state.
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

// known maps invalid values, possible in shared memory, to Undefined.
func (s State) known() State {
	if s > Down {
		return Undefined
	}
	return s
}

// combine combines two findings: Down if one is Down, else Up if one is Up.
func combine(a, b State) State { return max(a.known(), b.known()) }

// Slot holds the findings about one backend. It is in shared memory.
type Slot struct {
	passive    atomic.Uint32
	guardian   atomic.Uint32
	passiveAt  atomic.Int64 // last change of the status by this writer, Unix ns
	guardianAt atomic.Int64
	owner      atomic.Uint64

	// The following fields are written by the engine, see Eject.
	ejected      atomic.Uint32 // 1 while ejected
	failures     atomic.Uint32 // consecutive
	last         atomic.Uint32 // ejection: number in short succession, and Cause in the low byte
	latency      atomic.Uint32 // written by mgmt: see Latency
	ejectedAt    atomic.Int64  // Unix ns
	ejectedUntil atomic.Int64
}

// Usable reports whether the backend may be picked: neither found down nor ejected.
//
// Hot path: at most three atomic loads of one cache line, inlined, 0 allocations.
func (s *Slot) Usable() bool {
	return s.passive.Load() != uint32(Down) && s.guardian.Load() != uint32(Down) && s.ejected.Load() == 0
}

// Missed reports whether at most the engine's own finding, a failed connect, keeps the
// backend from being picked.
func (s *Slot) Missed() bool {
	return s.guardian.Load() != uint32(Down) && s.ejected.Load() == 0
}

// Status returns up, down or undefined. An ejected backend is down: it gets no traffic.
func (s *Slot) Status() farm.Status {
	if s.Ejected() {
		return farm.StatusDown
	}
	return combine(s.Passive(), s.Guardian()).status()
}

// Passive returns the engine's own finding.
func (s *Slot) Passive() State { return State(s.passive.Load()).known() }

// Unable reports whether the guardian found that no check can determine the state of the
// backend, and there is no other finding.
//
// Hot path: two atomic loads, 0 allocations.
func (s *Slot) Unable() bool {
	return s.guardian.Load() == uint32(Unable) && s.passive.Load() == uint32(Undefined)
}

// Guardian returns mgmt's finding.
func (s *Slot) Guardian() State { return State(s.guardian.Load()).known() }

// Latency returns the backend's recent response time to probes, in whole microseconds, or 0
// if unknown.
func (s *Slot) Latency() time.Duration { return time.Duration(s.latency.Load()) * time.Microsecond }

// SetLatency sets the latency, at least one microsecond. d <= 0 means unknown.
func (s *Slot) SetLatency(d time.Duration) {
	if d > 0 {
		d = max(d, time.Microsecond)
	}
	s.latency.Store(uint32(min(max(d, 0)/time.Microsecond, math.MaxUint32)))
}

// Since returns when Status last changed, or the zero time if never.
func (s *Slot) Since() time.Time {
	at := max(s.passiveAt.Load(), s.guardianAt.Load())
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// Reached returns when the engine last changed the status to up, Unix ns. It returns 1 if
// the finding is up but did not change the status, and 0 for another finding.
func (s *Slot) Reached() int64 { return upAt(&s.passive, &s.passiveAt) }

// Confirmed is Reached for the guardian.
func (s *Slot) Confirmed() int64 { return upAt(&s.guardian, &s.guardianAt) }

func upAt(state *atomic.Uint32, at *atomic.Int64) int64 {
	if state.Load() != uint32(Up) {
		return 0
	}
	return max(1, at.Load())
}

// Readmitted returns when the last ejection ended, Unix ns, or 0 if there was none or the
// backend is ejected.
func (s *Slot) Readmitted() int64 {
	if s.Ejected() {
		return 0
	}
	return s.ejectedUntil.Load()
}

// TableSize is the size of a table in bytes (4¼ MiB; only pages of used slots take memory).
const TableSize = int(unsafe.Sizeof(Table{}))

// magic is "SLHEALTH" read as a number, with the layout version below it.
const magic = 0x534c4845414c5448

// layout is increased when the meaning or offset of a word in Table changes.
const layout = 4

// ErrTable means that memory holds no table of this layout.
var ErrTable = errors.New("no health table")

// Table is the health table. It only exists in shared memory, see OpenTable:
//
//	0        magic, layout, version of each writer
//	64       slot 0 (unused), slot 1, … slot farm.MaxBackendID, 64 bytes each
//	         load of backend 0 (unused), 1, … farm.MaxBackendID, 4 bytes each
type Table struct {
	_ shm.Header
	// Each writer has its own count; the version is the sum.
	passive  atomic.Uint64
	guardian atomic.Uint64
	_        [32]byte
	slots    [farm.MaxBackendID + 1]Slot
	loads    [farm.MaxBackendID + 1]atomic.Uint32 // written by mgmt: Load plus 1, or 0 if unknown
}

// OpenTable returns the table in mem, at least TableSize bytes of shared memory mapped for
// writing. Zeroed memory is an empty table. Memory with another layout is refused with
// ErrTable.
func OpenTable(mem []byte) (*Table, error) {
	t, err := shm.Create[Table](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	return t, nil
}

// Slot returns the slot of a backend ID, always the same one. Only the low 16 bits of id
// count; a valid configuration has no higher IDs.
func (t *Table) Slot(id uint32) *Slot { return &t.slots[id&farm.MaxBackendID] }

// Load returns the backend's recent number of open connections, as reported to mgmt. known
// is false without a report.
//
// Hot path: one atomic load, 0 allocations.
func (t *Table) Load(id uint32) (n uint32, known bool) {
	n = t.loads[id&farm.MaxBackendID].Load()
	return n - min(n, 1), n > 0
}

// SetLoad sets the load; ForgetLoad makes it unknown.
func (t *Table) SetLoad(id, n uint32) {
	t.loads[id&farm.MaxBackendID].Store(min(n, math.MaxUint32-1) + 1)
}

// ForgetLoad makes the load of a backend unknown.
func (t *Table) ForgetLoad(id uint32) { t.loads[id&farm.MaxBackendID].Store(0) }

// Version grows with every change of a backend's usability. It may also grow if a finding
// changed without effect.
func (t *Table) Version() uint64 { return t.passive.Load() + t.guardian.Load() }

// SetPassive sets an engine's finding and reports whether it changed. If several loops
// report a change at once, only one call returns true. Any s except Up and Down counts as
// Undefined.
func (t *Table) SetPassive(id uint32, s State, at time.Time) bool {
	slot := t.Slot(id)
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &t.passive, s.known(), at)
}

// SetApart is SetPassive for a slot outside the table, in memory of the engine: a finding
// about one port of a backend only.
func (t *Table) SetApart(slot *Slot, s State, at time.Time) bool {
	return set(&slot.passive, &slot.passiveAt, &slot.guardian, &t.passive, s.known(), at)
}

// SetGuardian sets mgmt's finding and reports whether it changed. Any s except Up, Down and
// Unable counts as Undefined.
func (t *Table) SetGuardian(id uint32, s State, at time.Time) bool {
	slot := t.Slot(id)
	if s != Unable {
		s = s.known()
	}
	return set(&slot.guardian, &slot.guardianAt, &slot.passive, &t.guardian, s, at)
}

// set stores a finding. The order matters. A reader of the new version must see the finding,
// so the count is incremented last. The other finding is read before and after the store, so
// that of two writers whose changes together change the status, the later one sets its time.
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

// Adopt assigns the slot of id to owner, a unique number of the backend (0 is none). If
// another backend had the ID, the engine's findings about it are deleted. The values from
// mgmt (verdict, latency, load) stay, because they may already belong to the new owner:
// probes do not wait for the engine. The guardian clears them itself when an ID changes its
// owner. Call it before a configuration with the new owner is published.
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
