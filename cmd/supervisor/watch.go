package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/snapshot"
)

// watch observes a role until its runner is stopped and replaces a hanging process. page is
// the control page for an engine, and nil for other roles.
func watch(k *runner, page *snapshot.Page) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	var p *pulse
	watched, limit := 0, stillLimit
	if page == nil {
		limit = roleLimit
	}
	for {
		select {
		case <-k.stopped:
			return
		case <-t.C:
		}
		pid := k.state().PID
		if pid == 0 {
			watched = 0
			continue
		}
		if pid != watched {
			p, watched = &pulse{limit: limit}, pid
		}
		before := p.last
		if what, hung := p.see(k.lookAt(pid, page, p.doubtful())); what != "" {
			k.replace(pid, p.spinning(before), p.last.stopped, what, hung)
			watched = 0
		}
	}
}

// lookAt observes the process of the role. Before it serves, only a stopped process can be
// detected.
func (k *runner) lookAt(pid int, page *snapshot.Page, threads bool) look {
	if page != nil {
		return lookAt(pid, page, threads)
	}
	l := look{at: time.Now()}
	state, _ := stateOf(fmt.Sprintf("/proc/%d/stat", pid))
	l.stopped = state == 'T'
	if answered, serves := k.pulse(); serves {
		l.asked = answered
	} else {
		l.asked = uint64(l.at.UnixNano()) // assumed to be alive
	}
	if threads {
		l.threads = threadsOf(pid)
	}
	return l
}

// lookAt observes the process of an engine. Before it uses the page, only a stopped process
// can be detected.
func lookAt(pid int, page *snapshot.Page, threads bool) look {
	l := look{at: time.Now()}
	state, _ := stateOf(fmt.Sprintf("/proc/%d/stat", pid))
	l.stopped = state == 'T'
	if page.EnginePID() == pid {
		l.answered = make([]uint64, page.Loops())
		for i := range l.answered {
			l.answered[i] = page.Answered(i)
		}
		l.asked = page.Asked() // read after the answers, so that answers given meanwhile are not considered late
	} else {
		l.asked = uint64(l.at.UnixNano()) // assumed to be alive
	}
	if threads {
		l.threads = threadsOf(pid)
	}
	return l
}

// threadsOf returns the kernel's accounting of a process's threads, or nil if unavailable.
func threadsOf(pid int) map[int]thread {
	folders, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	threads := map[int]thread{}
	for _, folder := range folders {
		id, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, "schedstat"))
		if err != nil {
			continue
		}
		t, ok := parseSchedstat(string(b))
		state, err := stateOf(filepath.Join(folder, "stat"))
		if err == nil && ok {
			t.state = state
			threads[id] = t
		}
	}
	if len(threads) == 0 {
		return nil
	}
	return threads
}

// parseSchedstat parses "ran waited turns", with times in nanoseconds
// (Documentation/scheduler/sched-stats.rst).
func parseSchedstat(text string) (t thread, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return t, false
	}
	var numbers [3]uint64
	for i, f := range fields {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return t, false
		}
		numbers[i] = n
	}
	return thread{ran: time.Duration(numbers[0]), waited: time.Duration(numbers[1]), turns: numbers[2]}, true
}

// stateOf reads the state from a stat file, "PID (name) STATE …". The name may contain
// brackets, so the last one counts.
func stateOf(path string) (byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	if at := bytes.LastIndexByte(b, ')'); at >= 0 && at+2 < len(b) {
		return b[at+2], nil
	}
	return 0, fmt.Errorf("%s is not understood", path)
}
