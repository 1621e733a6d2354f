package balance

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// Member is one backend as a service configures it.
type Member struct {
	ID       uint32       // stable; consistent hash goes by it
	Weight   int          // 1 … MaxWeight; less acts as 1
	Priority int          // 1 is served first; less acts as 1
	Limit    int64        // most exchanges in flight, 0 means no limit
	Out      bool         // in maintenance
	Slot     *health.Slot // nil means the health table's slot of ID
	Load     *Load        // shared by all generations; nil means a new one
	// SlowStart is how long the member takes to its full weight after it became
	// usable; 0 means no time.
	SlowStart time.Duration
}

// Picker chooses among the members of one service. Any goroutine may use it;
// indexes are positions in the members given to New.
type Picker struct {
	algorithm Algorithm
	members   []member
	health    *health.Table
	state     *State
	order     []uint16                 // members by rising priority
	level     func(*farm.Unusable) int // by the kind of farm
	maglev    *maglev                  // ConsistentHash only
	table     atomic.Pointer[table]
}

// member is what the hot path needs of a Member, in one cache line.
type member struct {
	slot      *health.Slot
	apart     *health.Slot // see Picker.Apart; nil for nothing
	load      *Load
	limit     int64
	weight    int64
	slowStart int64
	priority  int32
	id        uint32
	out       bool
	counted   bool // Pick reserves Load.Active
}

// New makes a Picker. State must be the service's own and not nil. Members
// beyond farm.MaxBackendID are ignored: there are no more numbers for them.
func New(a Algorithm, members []Member, healthTable *health.Table, st *State) *Picker {
	return newPicker(a, members, healthTable, st, (*farm.Unusable).Level)
}

// NewL4 is New for an l4xnat farm, whose priorities open by another rule: the
// level rises by the number of unusable members of exactly its priority. Weights
// do not count with roundrobin.
func NewL4(a farm.L4Algorithm, members []Member, healthTable *health.Table, st *State) *Picker {
	if a == farm.L4RoundRobin {
		members = slices.Clone(members)
		for i := range members {
			members[i].Weight = 1
		}
	}
	return newPicker(ParseL4(a), members, healthTable, st, (*farm.Unusable).LevelL4)
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

// Pick chooses a member and reserves it (see Held); ok is false when none may
// be used. hash identifies the client and matters to ConsistentHash only; it
// need not be well mixed.
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

// Claim reserves member i without choosing, for a client whose session names
// it. It fails when the member is down or at its limit. Maintenance and
// priority are not asked: a drained member keeps its sessions, and those of a
// cut one are removed from the session table.
func (p *Picker) Claim(i int) bool { return p.members[i].open() && p.take(i, Tried{}) }

// Held returns what a successful Pick or Claim of member i reserved, to be
// released once with Done. It is nil when nothing was.
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

// Algorithm returns how this Picker chooses.
func (p *Picker) Algorithm() Algorithm { return p.algorithm }

// Usable reports whether member i is neither down nor in maintenance.
func (p *Picker) Usable(i int) bool { return p.members[i].usable() }

// Full reports whether member i has reached its limit.
func (p *Picker) Full(i int) bool { return p.members[i].full() }

// Room reports whether a member may be used now and has not reached its limit,
// and whether any may be used at all.
func (p *Picker) Room() (free, usable bool) {
	t := p.current()
	return p.anyFree(t, Tried{}), len(t.eligible) > 0
}

// Free reports whether a member may be used now that is not in tried and has
// not reached its limit.
func (p *Picker) Free(tried Tried) bool {
	return p.anyFree(p.current(), tried)
}

// current is the table that holds now.
func (p *Picker) current() *table {
	t := p.table.Load()
	if t.version.Load() != p.health.Version() || t.expired() {
		t = p.refresh()
	}
	return t
}

// Level returns the priority up to which members receive traffic now.
func (p *Picker) Level() int { return p.refresh().level }

// take reserves member i if it may be used at this instant.
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

func (m *member) usable() bool { return !m.out && m.slot.Usable() && m.open() }

// open reports whether nothing that was found apart speaks against the member.
func (m *member) open() bool { return m.apart == nil || m.apart.Usable() }

func (m *member) full() bool { return m.limit > 0 && m.load.Active.Load() >= m.limit }

func (p *Picker) priority(i uint16) int { return int(p.members[i].priority) }

// first takes the first member by priority that can be taken.
func (p *Picker) first(t *table, tried Tried) (int, bool) {
	for _, i := range p.order {
		if t.inLevel[i] && p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// Beyond picks the first usable member by priority above the level, and reserves
// it as Pick does: for who was refused by those within, though they are not down.
func (p *Picker) Beyond(tried Tried) (index int, ok bool) {
	t := p.refresh()
	for _, i := range p.order {
		if !t.inLevel[i] && t.usable[i] && p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}
