package balance

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// Member is one backend with the settings of a service.
type Member struct {
	ID       uint32       // stable; used by consistent hash
	Weight   int          // 1 … MaxWeight; lower values act as 1
	Priority int          // 1 is served first; lower values act as 1
	Limit    int64        // maximum exchanges in flight, 0 means no limit
	Out      bool         // in maintenance
	Slot     *health.Slot // nil means the health table's slot of ID
	Load     *Load        // shared by all generations; nil means a new one
	// SlowStart is how long the member takes to reach its full weight after it became
	// usable.
	SlowStart time.Duration
}

// Picker chooses among the members of one service. It is safe for concurrent use. Indexes
// are positions in the members given to New.
type Picker struct {
	algorithm Algorithm
	members   []member
	health    *health.Table
	state     *State
	order     []uint16                 // members by ascending priority
	level     func(*farm.Unusable) int // by the kind of farm
	maglev    *maglev                  // ConsistentHash only
	table     atomic.Pointer[table]
}

// member is the part of Member used on the hot path, in one cache line.
type member struct {
	slot      *health.Slot
	apart     *health.Slot // see Picker.Apart, or nil
	load      *Load
	limit     int64
	weight    int64
	slowStart int64
	priority  int32
	id        uint32
	out       bool
	counted   bool // Pick reserves Load.Active
}

// New returns a Picker. st must be the service's own and not nil. Members beyond
// farm.MaxBackendID are ignored, because no more IDs exist.
func New(a Algorithm, members []Member, healthTable *health.Table, st *State) *Picker {
	return newPicker(a, members, healthTable, st, (*farm.Unusable).Level)
}

// NewL4 is New for an l4xnat farm, whose priorities open by another rule: the level rises by
// the number of unusable members of exactly its priority. Roundrobin ignores weights.
func NewL4(a farm.L4Algorithm, members []Member, healthTable *health.Table, st *State) *Picker {
	if a == farm.L4RoundRobin {
		members = slices.Clone(members)
		for i := range members {
			members[i].Weight = 1
		}
	}
	return newPicker(ParseL4(a), members, healthTable, st, (*farm.Unusable).LevelL4)
}

// NewOf is New or NewL4, depending on how a group chooses.
func NewOf(c farm.Choosing, members []Member, healthTable *health.Table, st *State) *Picker {
	if c.Policy != nil {
		return New(Parse(*c.Policy), members, healthTable, st)
	}
	return NewL4(c.Algorithm, members, healthTable, st)
}

func newPicker(a Algorithm, members []Member, healthTable *health.Table, st *State, level func(*farm.Unusable) int) *Picker {
	members = members[:min(len(members), farm.MaxBackendID)]
	p := &Picker{algorithm: a, members: make([]member, len(members)), health: healthTable, state: st, level: level}
	for i, m := range members {
		if m.Slot == nil {
			m.Slot = healthTable.Slot(m.ID)
		}
		if m.Load == nil {
			m.Load = new(Load)
		}
		p.members[i] = member{
			slot: m.Slot, load: m.Load, limit: max(0, m.Limit), id: m.ID, out: m.Out,
			weight:   int64(min(max(1, m.Weight), MaxWeight)),
			priority: int32(min(max(1, m.Priority), math.MaxUint8)),
			counted:  m.Limit > 0 || a.NeedsLoad(), slowStart: int64(m.SlowStart),
		}
		p.order = append(p.order, uint16(i))
	}
	slices.SortStableFunc(p.order, func(a, b uint16) int { return cmp.Compare(p.priority(a), p.priority(b)) })
	if a == ConsistentHash {
		p.maglev = st.maglevOf(p.members)
	}
	p.refresh()
	return p
}

// Pick chooses a member and reserves it (see Held). ok is false if none is usable. hash
// identifies the client and is used by ConsistentHash only; it need not be well mixed.
func (p *Picker) Pick(hash uint64, tried Tried) (index int, ok bool) {
	t := p.table.Load()
	if t.version.Load() != p.health.Version() || t.expires != 0 && t.expired() {
		t = p.refresh()
	}
	if len(t.eligible) == 0 {
		return 0, false
	}
	switch p.algorithm {
	case LeastConnections, ResponseTime, PendingConnections:
		return p.least(t, tried)
	case RandomOfTwo:
		return p.randomOfTwo(t, tried)
	case ConsistentHash:
		return p.consistent(t, hash, tried)
	case First:
		return p.first(t, tried)
	}
	return p.roundRobin(t, tried)
}

// maxDraws limits the draws from the rotation before Pick looks at every member. Members
// that cannot be taken are skipped, so the others keep their exact shares; after 32 draws
// the next free member is taken.
const maxDraws = 32

// roundRobin takes turns on a schedule shared by all loops: of every len(schedule) picks on
// any loop each member gets its weight.
func (p *Picker) roundRobin(t *table, tried Tried) (int, bool) {
	if len(t.eligible) == 1 { // a single member: do not use the shared counter
		i := int(t.eligible[0])
		return i, p.take(i, tried)
	}
	i := t.turns.next(p.state)
	// take for most members, inlined.
	if m := &p.members[i]; !m.counted && tried == (Tried{}) && m.slot.Usable() {
		return i, true
	}
	return p.roundRobinSlow(t, i, tried)
}

func (p *Picker) roundRobinSlow(t *table, drawn int, tried Tried) (int, bool) {
	if p.take(drawn, tried) {
		return drawn, true
	}
	if !p.anyFree(t, tried) {
		return 0, false
	}
	for range maxDraws {
		if i := t.turns.next(p.state); p.take(i, tried) {
			return i, true
		}
	}
	for _, i := range t.eligible {
		if p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// anyFree saves the rotation draws of a service whose members are all full or tried.
func (p *Picker) anyFree(t *table, tried Tried) bool {
	for _, i := range t.eligible {
		if p.free(int(i), tried) {
			return true
		}
	}
	return false
}

// first takes the first usable member by priority.
func (p *Picker) first(t *table, tried Tried) (int, bool) {
	for _, i := range p.order {
		if t.inLevel[i] && p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// rotation is a schedule shared by loops.
type rotation struct {
	order []uint16
	magic uint64 // reciprocal of len(order)
}

// next draws the next turn; the rotation is not empty.
func (r *rotation) next(s *State) int {
	return int(r.order[r.remainder(uint32(s.turns.Add(1)-1))])
}

// remainder returns n % len(order) by two multiplications instead of a division (Lemire,
// Kaser, Kurz: Faster remainder by direct computation, 2019).
func (r *rotation) remainder(n uint32) uint64 {
	hi, _ := bits.Mul64(r.magic*uint64(n), uint64(len(r.order)))
	return hi
}

// State is the state of one service kept across generations, shared by all loops. The zero
// value starts a new rotation.
type State struct {
	_ [128]byte // avoids false sharing: every loop writes the rotation
	// turns counts draws from schedules. Only the low 32 bits are used; when they wrap, one
	// rotation is cut short.
	turns   atomic.Uint64
	_       [120]byte
	attempt Attempt
	maglev  atomic.Pointer[maglev] // last one built, kept while members are the same
}

// take reserves member i if it is usable now.
func (p *Picker) take(i int, tried Tried) bool {
	m := &p.members[i]
	if tried.Has(i) || !m.slot.Usable() {
		return false
	}
	return !m.counted || m.load.reserve(m.limit)
}

// free reports whether take would succeed now.
func (p *Picker) free(i int, tried Tried) bool {
	m := &p.members[i]
	return !tried.Has(i) && m.slot.Usable() && !m.full()
}

// Claim reserves member i without choosing, for a client whose session names it. It fails if
// the member is down or at its limit. Maintenance and priority are ignored: a drained member
// keeps its sessions, and sessions of a cut member are removed from the session table.
func (p *Picker) Claim(i int) bool { return p.members[i].open() && p.take(i, Tried{}) }

// Held returns the reservation of a successful Pick or Claim of member i, to be released
// once with Done, or nil if nothing was counted.
func (p *Picker) Held(i int) *Load {
	if m := &p.members[i]; m.counted {
		return m.load
	}
	return nil
}

// Len returns the number of members.
func (p *Picker) Len() int { return len(p.members) }

// ID returns the backend ID of member i.
func (p *Picker) ID(i int) uint32 { return p.members[i].id }

// Algorithm returns the algorithm of this Picker.
func (p *Picker) Algorithm() Algorithm { return p.algorithm }

// Usable reports whether member i is neither down nor in maintenance.
func (p *Picker) Usable(i int) bool { return p.members[i].usable() }

// Up reports whether member i is up, in maintenance or not.
func (p *Picker) Up(i int) bool { return p.members[i].slot.Usable() && p.members[i].open() }

// Full reports whether member i has reached its limit.
func (p *Picker) Full(i int) bool { return p.members[i].full() }

// Room reports whether a usable member below its limit exists, and whether any usable one
// does.
func (p *Picker) Room() (free, usable bool) {
	t := p.current()
	return p.anyFree(t, Tried{}), len(t.eligible) > 0
}

// Free reports whether a usable member exists that is not in tried and below its limit.
func (p *Picker) Free(tried Tried) bool {
	return p.anyFree(p.current(), tried)
}

// current returns the current table.
func (p *Picker) current() *table {
	t := p.table.Load()
	if t.version.Load() != p.health.Version() || t.expired() {
		t = p.refresh()
	}
	return t
}

// Level returns the priority up to which members get traffic now.
func (p *Picker) Level() int { return p.refresh().level }

func (m *member) usable() bool { return !m.out && m.slot.Usable() && m.open() }

// open reports whether the separate finding, if any, allows the member.
func (m *member) open() bool { return m.apart == nil || m.apart.Usable() }

func (m *member) full() bool { return m.limit > 0 && m.load.Active.Load() >= m.limit }

func (p *Picker) priority(i uint16) int { return int(p.members[i].priority) }

// Beyond picks and reserves the first usable member by priority above the level. It is used if
// the members within the level are up but refused an exchange.
func (p *Picker) Beyond(tried Tried) (index int, ok bool) {
	t := p.refresh()
	for _, i := range p.order {
		if !t.inLevel[i] && t.usable[i] && p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// Tried is the set of members an exchange has already tried. It is a small value: With
// returns a changed copy. The zero value is empty.
//
// The first 64 members of a service are all stored, and the last four of later ones: an
// exchange is not retried more often.
type Tried struct {
	low  uint64
	high [4]uint16 // indexes, newest first; 0 is no entry (index 0 is in low)
}

// With adds the member with index i.
func (t Tried) With(i int) Tried {
	if i < 64 {
		t.low |= 1 << uint(i)
		return t
	}
	t.high = [4]uint16{uint16(i), t.high[0], t.high[1], t.high[2]}
	return t
}

// Has reports whether the member with index i was tried.
func (t Tried) Has(i int) bool {
	if i < 64 {
		return t.low>>uint(i)&1 != 0
	}
	return t.hasHigh(uint16(i))
}

func (t Tried) hasHigh(i uint16) bool {
	return t.high[0] == i || t.high[1] == i || t.high[2] == i || t.high[3] == i
}
