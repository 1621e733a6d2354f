package supervisor

import (
	"strings"
	"testing"
	"time"
)

// patient is an observed engine of two loops with one thread each.
type patient struct {
	t   *testing.T
	p   pulse
	now look
	// Events between two looks.
	hung   bool    // the process
	loops  [2]bool // hung
	change func(now *look)
}

func newPatient(t *testing.T) *patient {
	return &patient{t: t, now: look{at: time.Now(), answered: make([]uint64, 2)}, change: func(*look) {}}
}

// until looks every interval for that long and returns what hangs then, and after which
// time.
func (p *patient) until(limit, interval time.Duration) (what string, after time.Duration) {
	p.t.Helper()
	for began := p.now.at; after < limit; {
		if what, _ = p.p.see(p.now); what != "" {
			return what, after
		}
		next := p.now
		next.at = next.at.Add(interval)
		after = next.at.Sub(began)
		next.answered = append([]uint64(nil), p.now.answered...)
		if !p.hung && int(after/AskEvery) != int((after-interval)/AskEvery) {
			next.asked++
		}
		for i := range next.answered {
			if !p.loops[i] && !p.hung {
				next.answered[i] = next.asked
			}
		}
		next.threads = nil
		if p.p.doubtful() {
			next.threads = map[int]thread{}
			for id := range 2 {
				t := p.now.threads[id]
				t.state = 'S'
				next.threads[id] = t
			}
		}
		p.change(&next)
		p.now = next
	}
	return "", after
}

func (p *patient) found(what, want string, after, least, most time.Duration) {
	p.t.Helper()
	if !strings.Contains(what, want) || want != "" && (after < least || after > most) {
		p.t.Errorf("found %q after %v, want %q after %v to %v", what, after, want, least, most)
	}
}

// each changes every observed thread.
func each(f func(id int, t *thread)) func(*look) {
	return func(now *look) {
		for id, t := range now.threads {
			f(id, &t)
			now.threads[id] = t
		}
	}
}

func TestResponsiveEngineIsNotReplaced(t *testing.T) {
	p := newPatient(t)
	if what, _ := p.until(time.Minute, lookEvery); what != "" {
		t.Errorf("found %q, want \"\"", what)
	}
}

func TestHangIsDetectedAfterTwoSeconds(t *testing.T) {
	for want, f := range map[string]func(p *patient){
		"the process": func(p *patient) { p.hung = true },
		"loop 0 of 2": func(p *patient) { p.loops[0] = true },
		"loop 1 of 2": func(p *patient) { p.loops[1] = true },
		"stopped by":  func(p *patient) { p.hung, p.change = true, func(now *look) { now.stopped = true } },
	} {
		p := newPatient(t)
		p.until(5*time.Second, lookEvery)
		f(p)
		what, after := p.until(time.Minute, lookEvery)
		p.found(what, want, after, stillLimit, stillLimit+AskEvery+3*lookEvery)
	}
}

// CPU time from before the spin does not count, and other threads use less.
func TestSpinningLoopIsDetectedWithItsThread(t *testing.T) {
	for name, share := range map[string]time.Duration{"alone": 1, "beside others that want the CPU": 4} {
		p := newPatient(t)
		p.loops[1] = true
		before := look{}
		p.change = func(now *look) {
			before = p.now
			each(func(id int, t *thread) {
				switch {
				case id == 0:
					t.turns, t.ran = t.turns+1, max(t.ran, time.Hour)+time.Millisecond
				case id == 1:
					t.state, t.turns, t.ran, t.waited = 'R', t.turns+1, t.ran+lookEvery/share, t.waited+lookEvery-lookEvery/share
				}
			})(now)
		}
		what, after := p.until(time.Minute, lookEvery)
		p.found(what, "loop 1 of 2", after, stillLimit, time.Duration(share)*stillLimit+AskEvery+3*lookEvery)
		for range 20 { // in any order
			if id := p.p.spinning(before); id != 1 {
				t.Fatalf("%s: thread %d is reported as spinning", name, id)
			}
		}
	}
}

func TestLoopHangingInTheKernelHasNoRunningThread(t *testing.T) {
	p := newPatient(t)
	p.loops[1] = true
	before := look{}
	p.change = func(*look) { before = p.now }
	if what, _ := p.until(time.Minute, lookEvery); what == "" || p.p.spinning(before) != 0 {
		t.Errorf("found %q in thread %d", what, p.p.spinning(before))
	}
}

func TestStarvedTimeDoesNotCount(t *testing.T) {
	for name, change := range map[string]func(*look){
		"waits for a CPU all the time": each(func(_ int, t *thread) { t.state = 'R' }),
		"waits again and again": each(func(_ int, t *thread) {
			t.state, t.turns, t.ran, t.waited = 'R', t.turns+3, t.ran+1000, t.waited+lookEvery-1000
		}),
		"one thread waits": each(func(id int, t *thread) { t.state = [2]byte{'S', 'R'}[id] }),
		"waits for a disk": each(func(_ int, t *thread) { t.state = 'D' }),
	} {
		for _, hung := range []bool{true, false} {
			p := newPatient(t)
			p.hung, p.loops, p.change = hung, [2]bool{true, true}, change
			if what, after := p.until(time.Minute, lookEvery); what != "" {
				t.Errorf("%s: found %q after %v", name, what, after)
			}
		}
	}
}

// It has a CPU half of the time, so two seconds of CPU time take four seconds.
func TestSlowedEngineGetsMoreTime(t *testing.T) {
	p := newPatient(t)
	p.loops[0] = true
	p.change = each(func(id int, t *thread) {
		if id == 0 {
			t.state, t.turns, t.ran, t.waited = 'R', t.turns+1, t.ran+lookEvery/2, t.waited+lookEvery/2
		}
	})
	what, after := p.until(time.Minute, lookEvery)
	p.found(what, "loop 0", after, 2*stillLimit-AskEvery, 2*stillLimit+AskEvery+3*lookEvery)
}

// Time lost by a suspend or a late supervisor does not count.
func TestUnobservedTimeDoesNotCount(t *testing.T) {
	p := newPatient(t)
	for range 3 {
		p.hung = false
		p.until(5*time.Second+2*lookEvery, lookEvery)
		p.hung = true
		p.now.at = p.now.at.Add(time.Hour)
		if what, _ := p.until(2*lookEvery, lookEvery); what != "" {
			t.Errorf("found %q, want \"\"", what)
		}
	}
}

func TestMissingCountersKeepThePreviousState(t *testing.T) {
	p := newPatient(t)
	p.loops[0] = true
	p.change = func(now *look) { now.threads = nil } // a kernel without thread data
	what, after := p.until(time.Minute, lookEvery)
	p.found(what, "loop 0", after, stillLimit, stillLimit+AskEvery+3*lookEvery)
}

func TestSchedstatIsParsed(t *testing.T) {
	got, ok := parseSchedstat("17 2500000000 3\n")
	if want := (thread{ran: 17, waited: 2500 * time.Millisecond, turns: 3}); !ok || got != want {
		t.Errorf("read %+v, %v", got, ok)
	}
	for _, text := range []string{"", "1 2", "1 2 x", "1 2 3 4"} {
		if _, ok := parseSchedstat(text); ok {
			t.Errorf("%q was read", text)
		}
	}
	if len(threadsOf(1<<22+1)) != 0 {
		t.Error("a process that is not there has threads")
	}
}
