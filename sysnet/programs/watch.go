package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// watchEvery is how often a program that runs is looked at.
const watchEvery = 200 * time.Millisecond

// watch looks at a program until it ends, and ends it when it goes beyond what it may use.
func (b *Box) watch(ctx context.Context, pid int) string {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
			if excess := b.Excess(b, pid); excess != "" {
				killGroup(pid)
				b.sweep()
				return excess
			}
		}
	}
}

// Watch knows what the processes of boxes use in all. It reads /proc once for all boxes.
type Watch struct {
	memory    uint64
	processes int

	mu   sync.Mutex
	at   time.Time
	used map[owner]usage
}

// owner is whose processes are added up: those of a uid, or of a process group.
type owner struct{ uid, group int }

type usage struct {
	memory    uint64
	processes int
}

// NewWatch returns a Watch for so many bytes and processes.
func NewWatch(memory uint64, processes int) *Watch {
	return &Watch{memory: memory, processes: processes}
}

// Excess is Box.Excess.
func (w *Watch) Excess(b *Box, pid int) string {
	who := owner{group: pid}
	if b.own() {
		who = owner{uid: int(b.UID)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.at) >= watchEvery/2 {
		w.at, w.used = now, look()
	}
	switch u := w.used[who]; {
	case u.memory > w.memory:
		return fmt.Sprintf("it used more than %d MiB of memory", w.memory>>20)
	case u.processes > w.processes:
		return fmt.Sprintf("it had more than %d processes", w.processes)
	}
	return ""
}

// look adds up what all processes use.
func look() map[owner]usage {
	out := map[owner]usage{}
	proc, err := os.Open("/proc")
	if err != nil {
		return out
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			uid, group, memory := process(pid)
			for _, who := range []owner{{uid: uid}, {group: group}} {
				u := out[who]
				out[who] = usage{u.memory + memory, u.processes + 1}
			}
		}
	}
	return out
}

// process reads whose a process is, and how much memory it holds, in bytes.
func process(pid int) (uid, group int, memory uint64) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	status, _ := os.ReadFile(folder + "status")
	for line := range bytes.Lines(status) {
		switch fields := bytes.Fields(line); {
		case len(fields) < 2:
		case string(fields[0]) == "Uid:":
			uid, _ = strconv.Atoi(string(fields[1]))
		case string(fields[0]) == "VmRSS:", string(fields[0]) == "VmSwap:":
			n, _ := strconv.ParseUint(string(fields[1]), 10, 64)
			memory += n << 10
		}
	}
	stat, _ := os.ReadFile(folder + "stat")
	if at := bytes.LastIndexByte(stat, ')'); at > 0 {
		if fields := bytes.Fields(stat[at+1:]); len(fields) > 2 {
			group, _ = strconv.Atoi(string(fields[2]))
		}
	}
	return uid, group, memory
}
