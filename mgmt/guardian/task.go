package guardian

import (
	"errors"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// key identifies a task: farms with the same check and route share it.
type key struct {
	check, command string
	to             probe.Target
	from           Route
}

// Route is the way to a backend, the same as for the traffic of its farm.
type Route struct {
	Source netip.Addr // invalid: the system chooses
	Mark   uint32     // 0: none
}

// user is a backend that the verdict of a task applies to.
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
	// inherits: the load of the backends is from an earlier guardian until a probe reports
	// it.
	inherits bool
	why      string // reason of the last failure
	// inherited: the verdict is that of an earlier task, and no probe has been sent since.
	inherited bool
	// unable is the reason why this machine could not send the last probe. local is how
	// often that happened in a row.
	unable  string
	local   int
	results ring
	spoiled int // results in a row that were discarded
	// ours are farms of this appliance with the address. Then the address is not probed,
	// and the task has the state of one of them.
	ours []*farm.Farm

	due     time.Time
	at      int // index in its heap, -1 while it is in none
	running bool
	soon    bool // the last probe, if any, took less than half of its timeout
	gone    bool // it was removed
}

// Result is the result of one probe.
type Result struct {
	At     time.Time
	Took   time.Duration
	Reason string // why the backend is not healthy; empty: it is
	// Local: the probe was not sent, for a reason of this machine.
	Local bool
}

func resultOf(began, ended time.Time, err error) Result {
	one := Result{At: began, Took: ended.Sub(began), Local: errors.Is(err, probe.ErrLocal)}
	if err != nil {
		one.Reason = err.Error()
	}
	return one
}

// kept is how many results of a task are remembered.
const kept = 10

// ring holds the last results. Its memory is allocated with the first.
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

// newest returns the results, the last one first.
func (r *ring) newest() []Result {
	out := make([]Result, 0, len(r.list))
	for i := range r.list {
		out = append(out, r.list[(r.next+len(r.list)-1-i)%len(r.list)])
	}
	return out
}

// last returns the newest result; ok is false without one.
func (r *ring) last() (one Result, ok bool) {
	if len(r.list) == 0 {
		return one, false
	}
	return r.list[(r.next+len(r.list)-1)%len(r.list)], true
}
