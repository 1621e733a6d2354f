package programs

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// family tracks the processes that one Server has started, and their descendants.
//
// If programs have no dedicated user, each gets a mark that its processes inherit and
// cannot remove: the hard limit RLIMIT_LOCKS, which kernels no longer enforce,
// decremented for each program. This process is a subreaper, so every process of a
// program remains its descendant.
type family struct {
	mu    sync.Mutex // held during the start of a program and while processes are killed
	next  uint64     // mark of the next program; 0 if marks are unavailable
	live  map[uint64]bool
	mains map[int]bool // processes that another goroutine reaps
}

// newFamily makes this process a child subreaper.
func newFamily() *family {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return &family{next: firstMark(), live: map[uint64]bool{}, mains: map[int]bool{}}
}

// firstMark returns the highest possible mark. Processes of an earlier server are gone
// (EndLeft).
func firstMark() uint64 {
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_LOCKS, &now) != nil {
		return 0
	}
	return min(now.Max, math.MaxInt64) - 1
}

// start starts a program, with or without a mark.
func (f *family) start(cmd *exec.Cmd, marked bool) (mark uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if marked {
		if err := unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: f.next, Max: f.next}); err != nil {
			return 0, fmt.Errorf("mark its processes: %w", err)
		}
		mark = f.next
		f.next--
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	f.mains[cmd.Process.Pid] = true
	if marked {
		f.live[mark] = true
	}
	return mark, nil
}

// waited records that a program has been reaped.
func (f *family) waited(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.mains, pid)
}

// end kills all processes with the mark, and those with marks of earlier programs.
func (f *family) end(mark uint64) {
	for until := time.Now().Add(endTime); f.endOnce(mark) && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
}

// endOnce searches for them once, and reports whether there were any.
func (f *family) endOnce(mark uint64) (found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.live, mark)
	for _, p := range descendants() {
		found = p.state != 'Z' && endStray(p.pid, f.live) || found
	}
	return found
}

// endStray kills a process that belongs to no running program.
func endStray(pid int, live map[uint64]bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	mark, err := markOf(pid)
	return err == nil && !live[mark] && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

func markOf(pid int) (uint64, error) {
	var l unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l)
	return l.Max, err
}

// reap reaps orphans that have ended.
func (f *family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		var who struct { // siginfo_t of SIGCHLD
			signal, errno, code, _ int32
			pid                    int32
			_                      [108]byte
		}
		_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&who)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
		pid := int(who.pid)
		if errno != 0 || pid == 0 || f.mains[pid] {
			return // none, or another goroutine reaps it
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// process is the parsed content of /proc/PID/stat.
type process struct {
	pid, parent int
	state       byte
}

// descendants returns all descendants of this process.
func descendants() (out []process) {
	children := map[int][]process{}
	for _, pid := range pids() {
		if p, ok := statOf(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	out = children[os.Getpid()]
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i].pid]...)
	}
	return out
}

func pids() (out []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// statOf parses "PID (name) STATE PARENT …". The name may contain anything, so the last
// bracket ends it.
func statOf(pid int) (p process, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return p, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return process{pid, parent, fields[0][0]}, err == nil
}

// EndLeft kills and reaps program processes that a dead Server has left. This process
// must be their nearest subreaper. Programs ran as the n uids from first on; first 0
// means without dedicated uids.
func EndLeft(first, n uint32) {
	own, err := markOf(os.Getpid())
	if err != nil {
		return
	}
	of := func(pid int) bool {
		if first == 0 {
			mark, err := markOf(pid)
			return err == nil && mark != own
		}
		uid, _ := statusOf(pid)
		return uint32(uid) >= first && uint32(uid) < first+n
	}
	for until := time.Now().Add(endTime); time.Now().Before(until); time.Sleep(time.Millisecond) {
		found := false
		for _, p := range descendants() {
			if !of(p.pid) {
				continue
			}
			found = true
			if p.state != 'Z' {
				_ = unix.Kill(p.pid, unix.SIGKILL)
			} else if p.parent == os.Getpid() {
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			}
		}
		if !found {
			return
		}
	}
}
