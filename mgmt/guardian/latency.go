package guardian

import (
	"math"
	"time"
)

const (
	// settles is how much a new latency counts: one part of so many.
	settles = 8
	// here is the latency of a farm of this appliance, which is not asked.
	here = latency(time.Microsecond)
)

// latency is how long the probes of a task took lately that succeeded; 0 is not known.
type latency time.Duration

// measured takes what one took.
func (l *latency) measured(took time.Duration) {
	if *l == 0 {
		*l = latency(took)
		return
	}
	*l += (latency(took) - *l) / settles
}

// load is how much a target has to do: the connections that are open to it.
type load struct {
	connections uint64
	known       bool
}

// note writes the latency of a task, and its load, beside the findings of its backends.
func (g *Guardian) note(t *task) {
	for _, u := range t.users {
		g.options.Table.Slot(u.id).SetLatency(time.Duration(t.latency))
		switch {
		case t.load.known:
			g.options.Table.SetLoad(u.id, uint32(min(t.load.connections, math.MaxUint32)))
		case !t.inherits:
			g.options.Table.ForgetLoad(u.id)
		}
	}
}

// remembered is the latency an earlier guardian found for one of the users.
func remembered(table Table, users []user) (out latency) {
	for _, u := range users {
		out = max(out, latency(table.Slot(u.id).Latency()))
	}
	return out
}
