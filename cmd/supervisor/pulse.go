package supervisor

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// AskEvery is the interval at which an engine asks its loops.
	AskEvery = time.Second
	// lookEvery is the interval at which the supervisor checks the answers.
	lookEvery = 250 * time.Millisecond
	// stillLimit is the time after which a hanging engine or loop is replaced.
	stillLimit = 2 * time.Second
	// roleLimit is the same for mgmt and netd, which do not carry traffic.
	roleLimit = 5 * time.Second
)

// look is an observation of a role.
type look struct {
	at       time.Time // with its monotonic clock, which stops during suspend
	asked    uint64
	answered []uint64 // of each engine loop
	stopped  bool     // by a signal
	// threads of the process by number; nil if not examined.
	threads map[int]thread
}

// thread holds the kernel's accounting of a thread (/proc/PID/task/TID).
type thread struct {
	state byte // R, S, D, T …
	// ran is the time on a CPU, waited the time waiting for one, without the current wait,
	// and turns the number of times it got one.
	ran, waited time.Duration
	turns       uint64
}

// pulse detects whether a role hangs. It counts only time in which the role could have
// continued. Time in which the supervisor itself did not run, because of a suspend or
// overload, does not count. Neither does time in which threads of the engine waited for a
// CPU, a page or a disk.
type pulse struct {
	limit   time.Duration // maximum time of a hang; 0: stillLimit
	last    look
	process time.Duration // time since the process stopped asking
	stopped time.Duration // by a signal
	loops   []time.Duration
}

// doubtful reports whether there was no progress since the previous look, so that the next
// one should examine the threads.
func (p *pulse) doubtful() bool {
	longest := max(p.process-AskEvery, p.stopped)
	for _, d := range p.loops {
		longest = max(longest, d)
	}
	return longest > 0
}

// see evaluates a look. It returns the hanging part and the time for which it could have
// continued, or "" if nothing hangs for long enough.
func (p *pulse) see(now look) (what string, hung time.Duration) {
	last := p.last
	p.last, p.limit = now, cmp.Or(p.limit, stillLimit)
	if last.at.IsZero() || len(last.answered) != len(now.answered) {
		p.process, p.stopped, p.loops = 0, 0, make([]time.Duration, len(now.answered))
		return "", 0
	}
	since := min(now.at.Sub(last.at), 2*lookEvery)
	able := max(0, since-starved(last, now))
	count(&p.stopped, now.stopped, since)
	count(&p.process, now.asked == last.asked, able)
	for i, n := range now.answered {
		count(&p.loops[i], n != now.asked && n == last.answered[i], able)
	}
	switch {
	case p.stopped >= p.limit:
		return "it was stopped by a signal", p.stopped
	case p.process >= p.limit+AskEvery:
		return "the process", p.process
	}
	for i, d := range p.loops {
		if d >= p.limit {
			return fmt.Sprintf("loop %d of %d", i, len(p.loops)), d
		}
	}
	return "", 0
}

func count(sum *time.Duration, still bool, by time.Duration) {
	if !still {
		*sum = 0
		return
	}
	*sum += by
}

// starved returns the share of the time between two looks in which some thread did not get
// the resource that it waited for. Without earlier thread data it returns all of the time.
func starved(last, now look) (most time.Duration) {
	all := now.at.Sub(last.at)
	if now.threads == nil {
		return 0 // the threads were not examined, or this kernel has no data
	}
	if last.threads == nil {
		return all
	}
	for id, t := range now.threads {
		before, known := last.threads[id]
		switch {
		case t.state == 'D':
			return all
		case !known:
		case t.state == 'R' && t.turns == before.turns && t.ran == before.ran:
			return all // still waiting; the kernel counts a wait at its end
		default:
			most = max(most, t.waited-before.waited)
		}
	}
	return most
}

// spinning returns the thread with the most CPU time between the last two looks, or 0. Its
// stack is requested. On a busy machine a spinning loop gets only a part of a CPU, but more
// than the other threads.
func (p *pulse) spinning(before look) (id int) {
	least := time.Duration(0)
	for n, t := range p.last.threads {
		if ran := t.ran - before.threads[n].ran; before.threads != nil && ran > least {
			id, least = n, ran
		}
	}
	return id
}
