package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of utime and stime: USER_HZ is 100 on every architecture
// Go runs Linux on.
const tick = 10 * time.Millisecond

// CPU is the CPU time of a set of processes so far.
type CPU struct {
	// Sched is the sum over the living threads of field 1 of schedstat, exact
	// to the nanosecond; it misses threads that ended.
	Sched time.Duration
	// User and System are utime and stime: ended threads included, in steps of
	// 10 ms. Their sum checks Sched.
	User, System time.Duration
}

// Sub returns the time used between before and c.
func (c CPU) Sub(before CPU) CPU {
	return CPU{Sched: c.Sched - before.Sched, User: c.User - before.User, System: c.System - before.System}
}

// Agrees reports whether both accountings agree within their resolution (two ticks per
// process, or 3 %).
func (c CPU) Agrees(processes int) bool {
	off := (c.Sched - c.User - c.System).Abs()
	return off <= max(2*tick*time.Duration(max(processes, 1)), c.Sched*3/100)
}

func (c *CPU) add(o CPU) {
	c.Sched += o.Sched
	c.User += o.User
	c.System += o.System
}

// ErrGone is returned when a process ended before it could be read.
var ErrGone = errors.New("process is gone")

// Usage sums the processor time of the given processes. A missing process is an error,
// because its CPU time is lost and the sum would be too low.
func Usage(processes []Process) (CPU, error) {
	var sum CPU
	for _, p := range processes {
		one, err := usage(p)
		if err != nil {
			return sum, err
		}
		sum.add(one)
	}
	return sum, nil
}

func usage(p Process) (CPU, error) {
	dir := filepath.Join("/proc", strconv.Itoa(p.PID))
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return CPU{}, fmt.Errorf("process %d: %w", p.PID, ErrGone)
	}
	st, err := parseStat(string(text))
	if err != nil {
		return CPU{}, err
	}
	if st.start != p.Start {
		return CPU{}, fmt.Errorf("process %d: %w (its number was reused)", p.PID, ErrGone)
	}
	c := CPU{User: st.user, System: st.system}
	threads, err := os.ReadDir(filepath.Join(dir, "task"))
	if err != nil {
		return CPU{}, fmt.Errorf("process %d: %w", p.PID, ErrGone)
	}
	for _, t := range threads {
		text, err := os.ReadFile(filepath.Join(dir, "task", t.Name(), "schedstat"))
		if err != nil {
			continue // the thread ended between the two reads
		}
		ran, err := parseSchedstat(string(text))
		if err != nil {
			return CPU{}, fmt.Errorf("thread %s of process %d: %w", t.Name(), p.PID, err)
		}
		c.Sched += ran
	}
	return c, nil
}

// parseSchedstat reads "ran waited timeslices" and returns the first.
func parseSchedstat(text string) (time.Duration, error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return 0, fmt.Errorf("schedstat %q has %d fields instead of 3", text, len(fields))
	}
	ns, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("schedstat: %w", err)
	}
	return time.Duration(ns), nil
}

type stat struct {
	parent       int
	start        uint64
	user, system time.Duration
}

// parseStat reads /proc/PID/stat (proc(5)). The command in parentheses may
// itself hold blanks and parentheses, so fields are counted from the last ')'.
func parseStat(text string) (stat, error) {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("stat %q has no command", text)
	}
	fields := strings.Fields(text[end+1:]) // fields[0] is field 3, the state
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("stat has %d fields after the command instead of 20 or more", len(fields))
	}
	var s stat
	var user, system uint64
	for _, f := range []struct {
		text string
		into *uint64
	}{{fields[11], &user}, {fields[12], &system}, {fields[19], &s.start}} {
		n, err := strconv.ParseUint(f.text, 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("stat: %w", err)
		}
		*f.into = n
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return stat{}, fmt.Errorf("stat: %w", err)
	}
	s.parent = parent
	s.user, s.system = time.Duration(user)*tick, time.Duration(system)*tick
	return s, nil
}
