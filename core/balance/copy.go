package balance

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// Copy returns a Picker that picks as p would now and does not affect it: turns and loads
// are copied, so reservations are separate. It sees health changes.
func (p *Picker) Copy() *Picker {
	c := &Picker{algorithm: p.algorithm, members: slices.Clone(p.members), health: p.health, state: p.state.copy(), order: p.order, level: p.level, maglev: p.maglev}
	for i := range c.members {
		c.members[i].load = p.members[i].load.copy()
	}
	c.refresh()
	return c
}

// Apart returns a Picker of the same members with the same loads and separate turns. It also
// respects slot(i), a finding about one aspect of member i, e.g. one port. Writers of these
// slots must advance the health table's version (health.SetApart).
func (p *Picker) Apart(slot func(i int) *health.Slot) *Picker {
	c := &Picker{algorithm: p.algorithm, members: slices.Clone(p.members), health: p.health, state: new(State), order: p.order, level: p.level, maglev: p.maglev}
	for i := range c.members {
		c.members[i].apart = slot(i)
	}
	c.refresh()
	return c
}

func (s *State) copy() *State {
	c := &State{}
	c.turns.Store(s.turns.Load())
	return c
}

func (l *Load) copy() *Load {
	c := &Load{}
	c.Active.Store(l.Active.Load())
	c.Pending.Store(l.Pending.Load())
	c.latency.value.Store(l.latency.value.Load())
	c.latency.at.Store(l.latency.at.Load())
	c.since.Store(l.since.Load())
	c.seen.Store(l.seen.Load())
	return c
}

// Cost returns what the algorithm compares of member i, before weights: exchanges in flight
// or pending, or for ResponseTime the expected time of one more. It is empty for algorithms
// that do not compare.
func (p *Picker) Cost(i int) string {
	l := p.members[i].load
	switch p.algorithm {
	case LeastConnections, RandomOfTwo:
		return fmt.Sprintf("%d in flight", l.Active.Load())
	case PendingConnections:
		return fmt.Sprintf("%d pending", l.Pending.Load())
	case ResponseTime:
		return fmt.Sprintf("%s expected", (time.Duration(l.expected(clock())) << 10).Round(10*time.Microsecond))
	}
	return ""
}

// Verdict is why Pick could choose a member or not.
type Verdict uint8

// The verdicts, the first that applies.
const (
	Eligible Verdict = iota // Pick may choose it
	Used                    // already tried by the exchange
	Out                     // in maintenance
	Down
	Later // its priority is above the level
	Full  // at its limit
)

// Why describes why a member is not chosen; empty for Eligible.
func (v Verdict) Why(maintenance string, priority int, limit int64) string {
	switch v {
	case Used:
		return "tried already"
	case Out:
		return "in maintenance: " + maintenance
	case Down:
		return "down"
	case Later:
		return fmt.Sprintf("priority %d is not served: enough of those before are usable", priority)
	case Full:
		return fmt.Sprintf("at its limit of %d", limit)
	}
	return ""
}

// Verdict returns the current verdict about member i.
func (p *Picker) Verdict(i int, tried Tried) Verdict {
	t := p.refresh()
	m := &p.members[i]
	switch {
	case m.out:
		return Out
	case !m.slot.Usable() || !m.open():
		return Down
	case !t.inLevel[i]:
		return Later
	case tried.Has(i):
		return Used
	case m.full():
		return Full
	}
	return Eligible
}

// Member returns member i with the values the Picker uses.
func (p *Picker) Member(i int) Member {
	m := &p.members[i]
	return Member{ID: m.id, Weight: int(m.weight), Priority: int(m.priority), Limit: m.limit, Out: m.out, Slot: m.slot, Load: m.load, SlowStart: time.Duration(m.slowStart)}
}
