package guardian

import (
	"errors"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// key is what makes a task: farms that ask the same in the same way share it.
type key struct {
	check, command string
	to             probe.Target
	from           Route
}

// Route is how a backend is reached: as the traffic of its farm.
type Route struct {
	Source netip.Addr // invalid: the system chooses
	Mark   uint32     // 0: none
}

// user is a backend the verdict of a task is about.
type user struct {
	id            uint32
	farm, service string
}

// task is one check of one address.
type task struct {
	key
	settings farm.Check
	probe    probe.Probe
	users    []user

	judge
	latency
	load load
	// inherits: as long as nobody tells it, the load of the backends is what an earlier
	// guardian was told.
	inherits bool
	why      string // it failed the last time it did
	// unable says why this machine could not ask the last time, local how often in a row.
	unable  string
	local   int
	results ring
	spoiled int // results in a row that were discarded
	// ours are farms of this appliance that have the address: it is not asked, but is
	// as one of them is.
	ours []*farm.Farm

	due     time.Time
	at      int // in the heap it is in, -1 while it is in none
	running bool
	soon    bool // the last probe, if any, took less than half of its time-out
	gone    bool // nobody needs it any more
}

// Result is what came of one probe.
type Result struct {
	At     time.Time
	Took   time.Duration
	Reason string // why the backend is not healthy; empty: it is
	// Local: it was not asked, for a reason of this machine.
	Local bool
}

func resultOf(began, ended time.Time, err error) Result {
	one := Result{At: began, Took: ended.Sub(began), Local: errors.Is(err, probe.ErrLocal)}
	if err != nil {
		one.Reason = err.Error()
	}
	return one
}

// kept is how many results are remembered of a task.
const kept = 10

// ring holds the last results. Its memory comes with the first.
type ring struct {
	list []Result
	next int
}

func (r *ring) add(one Result) {
	if len(r.list) < kept {
		r.list = append(r.list, one)
		return
	}
	r.list[r.next] = one
	r.next = (r.next + 1) % kept
}

// newest are the results, the last one first.
func (r *ring) newest() []Result {
	out := make([]Result, 0, len(r.list))
	for i := range r.list {
		out = append(out, r.list[(r.next+len(r.list)-1-i)%len(r.list)])
	}
	return out
}

// last is the newest result; ok is false without one.
func (r *ring) last() (one Result, ok bool) {
	if len(r.list) == 0 {
		return one, false
	}
	return r.list[(r.next+len(r.list)-1)%len(r.list)], true
}
