package guardian

import (
	"math"
	"time"
)

const (
	// settles is the divisor for the weight of a new latency: it counts 1/settles.
	settles = 8
	// here is the latency of a farm of this appliance, which is not probed.
	here = latency(time.Microsecond)
)

// latency is the recent duration of successful probes of a task; 0 is unknown.
type latency time.Duration

// measured adds the duration of one probe.
func (l *latency) measured(took time.Duration) {
	if *l == 0 {
		*l = latency(took)
		return
	}
	*l += (latency(took) - *l) / settles
}

// load is the load of a target: the number of open connections to it.
type load struct {
	connections uint64
	known       bool
}

// note writes the latency of a task, and its load, for some of its backends.
func (g *Guardian) note(t *task, users []user) {
	for _, u := range users {
		g.options.Table.Slot(u.id).SetLatency(time.Duration(t.latency))
		switch {
		case t.load.known:
			g.options.Table.SetLoad(u.id, uint32(min(t.load.connections, math.MaxUint32)))
		case !t.inherits:
			g.options.Table.ForgetLoad(u.id)
		}
	}
}

// remembered returns the latency that an earlier guardian found for one of the users.
func remembered(table Table, users []user) (out latency) {
	for _, u := range users {
		out = max(out, latency(table.Slot(u.id).Latency()))
	}
	return out
}
