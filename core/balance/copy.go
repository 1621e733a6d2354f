package balance

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// Copy returns a Picker that picks as p would now and changes nothing of it:
// turns and loads are copies, so what is picked or claimed here is not
// reserved there. It sees backends go down and come back.
func (p *Picker) Copy() *Picker {
	c := &Picker{algorithm: p.algorithm, members: slices.Clone(p.members), health: p.health, state: p.state.copy(), order: p.order, level: p.level, maglev: p.maglev}
	for i := range c.members {
		c.members[i].load = p.members[i].load.copy()
	}
	c.refresh()
	return c
}

// Apart returns a Picker of the same members, with the loads they have here and
// turns of its own, that goes by slot(i), too: what is found of member i in one
// respect only. Who writes there moves the health table's version (health.SetApart).
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

// Cost is what the algorithm compares of member i, before weights: exchanges in
// flight or pending, or for ResponseTime the time one more is expected to take.
// The algorithms that do not compare have none.
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

// Verdict says why Pick could choose a member or not.
type Verdict uint8

// The verdicts, the first that holds.
const (
	Eligible Verdict = iota // Pick may choose it
	Used                    // the exchange tried it already
	Out                     // in maintenance
	Down
	Later // its priority is above the level
	Full  // at its limit
)

// Why says in words what keeps a member from being chosen; empty for Eligible.
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

// Verdict says what Pick makes of member i at this moment.
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

// Member returns member i as the Picker goes by it.
func (p *Picker) Member(i int) Member {
	m := &p.members[i]
	return Member{ID: m.id, Weight: int(m.weight), Priority: int(m.priority), Limit: m.limit, Out: m.out, Slot: m.slot, Load: m.load, SlowStart: time.Duration(m.slowStart)}
}
