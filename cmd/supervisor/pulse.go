package supervisor

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// AskEvery is how often an engine asks its loops for an answer.
	AskEvery = time.Second
	// lookEvery is how often the supervisor looks for these.
	lookEvery = 250 * time.Millisecond
	// stillLimit is how long an engine or a loop may hang.
	stillLimit = 2 * time.Second
	// roleLimit is how long mgmt or netd may: nobody's traffic waits for them.
	roleLimit = 5 * time.Second
)

// look is what is seen of a role at one moment.
type look struct {
	at       time.Time // with its monotonic clock, which stops while the machine is suspended
	asked    uint64
	answered []uint64 // of each loop of an engine
	stopped  bool     // by a signal
	// threads are those of the process by number; nil when they were not looked at.
	threads map[int]thread
}

// thread is what the kernel has counted of a thread (/proc/PID/task/TID).
type thread struct {
	state byte // R, S, D, T …
	// ran is the time it had a CPU; waited the time it waited for one, but for
	// the wait it is in; turns how often it got one.
	ran, waited time.Duration
	turns       uint64
}

// pulse finds out whether a role hangs. Only time in which it could
// have gone on counts: none in which the supervisor itself did not come to look,
// because the machine was suspended or has too much to do, and none in which
// threads of the engine waited for a CPU, or for a page or a disk.
type pulse struct {
	limit   time.Duration // how long it may hang; 0: stillLimit
	last    look
	process time.Duration // since when it asks no more
	stopped time.Duration // by a signal
	loops   []time.Duration
}

// doubtful says that something has not gone on since the last look: the next
// should look at the threads.
func (p *pulse) doubtful() bool {
	longest := max(p.process-AskEvery, p.stopped)
	for _, d := range p.loops {
		longest = max(longest, d)
	}
	return longest > 0
}

// see takes a look and tells what hangs, and for how long it could have
// gone on; the empty text means that nothing does, or not for long enough.
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

// starved is how much of the time between two looks some thread did not get what
// it waited for. All of it when that is not known yet: the first look at threads
// has none to compare with.
func starved(last, now look) (most time.Duration) {
	all := now.at.Sub(last.at)
	if now.threads == nil {
		return 0 // nothing was doubtful, or this kernel does not tell
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
			return all // it waits all the time; that is counted when it is over
		default:
			most = max(most, t.waited-before.waited)
		}
	}
	return most
}

// spinning is the thread that had a CPU for longest between the last two looks, 0
// when none had: it is the one whose stack is asked for. On a machine with much to
// do a loop that spins has a part of a CPU only, and still more than the others.
func (p *pulse) spinning(before look) (id int) {
	least := time.Duration(0)
	for n, t := range p.last.threads {
		if ran := t.ran - before.threads[n].ran; before.threads != nil && ran > least {
			id, least = n, ran
		}
	}
	return id
}
