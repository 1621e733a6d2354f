package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process identifies a process permanently: a reused PID has another start time.
type Process struct {
	PID   int
	Start uint64 // in clock ticks since boot
}

// Tree returns the process root and all its living descendants. Daemons with init as
// parent are not included; no contestant is started as a daemon.
func Tree(root int) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]Process{}
	var tree []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		st, err := parseStat(string(text))
		if err != nil {
			continue
		}
		p := Process{PID: pid, Start: st.start}
		if pid == root {
			tree = append(tree, p)
			continue
		}
		children[st.parent] = append(children[st.parent], p)
	}
	if len(tree) == 0 {
		return nil, fmt.Errorf("process %d: %w", root, ErrGone)
	}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].PID]...)
	}
	return tree, nil
}

// Alive reports whether the very same process still runs (a zombie does not).
func (p Process) Alive() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		return false
	}
	st, err := parseStat(string(text))
	if err != nil || st.start != p.Start {
		return false
	}
	state := string(text)[strings.LastIndexByte(string(text), ')')+1:]
	return !strings.HasPrefix(strings.TrimSpace(state), "Z")
}

// Pss sums the proportional set size of the processes in bytes: memory shared
// by several processes counts once in the sum.
func Pss(processes []Process) (int64, error) {
	var sum int64
	for _, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
		if err != nil {
			return 0, fmt.Errorf("memory of process %d: %w", p.PID, err)
		}
		n, err := parsePss(string(text))
		if err != nil {
			return 0, fmt.Errorf("memory of process %d: %w", p.PID, err)
		}
		sum += n
	}
	return sum, nil
}

func parsePss(text string) (int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "Pss:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, err
		}
		return kb * 1024, nil
	}
	return 0, fmt.Errorf("smaps_rollup has no Pss line")
}
