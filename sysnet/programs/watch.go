package programs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound the resources of one program with all its processes.
type Limits struct {
	Memory    uint64 // bytes
	Processes int
	// Files bounds written data in bytes: files in its folder, and open files elsewhere,
	// including deleted ones and those in memory.
	Files uint64
}

// maxFiles bounds the number of files in the folder of a program.
const maxFiles = 10000

// Watch tracks the resource usage of boxes. It reads /proc once for all of them.
type Watch struct {
	limits Limits

	mu   sync.Mutex
	at   time.Time
	used map[owner]usage
}

// owner identifies the processes of a program, by uid or by mark.
type owner struct {
	uid  int
	mark uint64
}

type usage struct {
	memory uint64
	pids   []int
}

// NewWatch returns a Watch with the limits.
func NewWatch(l Limits) *Watch { return &Watch{limits: l} }

// excess returns the limit that the program in a box exceeds, or "".
func (w *Watch) excess(b *Box) string {
	u := w.usage(owner{uid: int(b.UID), mark: b.mark.Load()})
	switch {
	case u.memory > w.limits.Memory:
		return fmt.Sprintf("it used more than %d MiB of memory", w.limits.Memory>>20)
	case len(u.pids) > w.limits.Processes:
		return fmt.Sprintf("it had more than %d processes", w.limits.Processes)
	}
	written, number := b.written(u.pids)
	switch {
	case written > w.limits.Files:
		return fmt.Sprintf("it wrote more than %d MiB", w.limits.Files>>20)
	case number > maxFiles:
		return fmt.Sprintf("it made more than %d files", maxFiles)
	}
	return ""
}

func (w *Watch) usage(who owner) usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.at) >= lookEvery/2 {
		w.at, w.used = now, look()
	}
	return w.used[who]
}

// look adds up the usage of the descendants of this process.
func look() map[owner]usage {
	out := map[owner]usage{}
	for _, p := range descendants() {
		uid, memory := statusOf(p.pid)
		who := owner{uid: uid}
		if uid == os.Geteuid() {
			mark, err := markOf(p.pid)
			if err != nil {
				continue
			}
			who = owner{mark: mark}
		}
		u := out[who]
		out[who] = usage{u.memory + memory, append(u.pids, p.pid)}
	}
	return out
}

// statusOf returns the uid of a process and its memory in bytes (VmRSS and VmSwap).
func statusOf(pid int) (uid int, memory uint64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
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
	return uid, memory
}

// written adds up the files of a program: those in its folder, and those open in its
// processes, which may be deleted or unnamed. Only a thread in the program's sandbox may
// inspect the latter.
func (b *Box) written(pids []int) (size uint64, number int) {
	seen := map[[2]uint64]bool{}
	add := func(path string, stat func(string, *unix.Stat_t) error) {
		var st unix.Stat_t
		if stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != b.user() {
			return
		}
		if id := [2]uint64{uint64(st.Dev), st.Ino}; !seen[id] {
			seen[id] = true
			size += uint64(st.Blocks) * 512
		}
	}
	_ = b.as(func() error {
		_ = filepath.WalkDir(b.folder, func(path string, _ fs.DirEntry, err error) error {
			if number++; number > maxFiles {
				return fs.SkipAll
			}
			add(path, unix.Lstat)
			return nil
		})
		for _, pid := range pids {
			folder := fmt.Sprintf("/proc/%d/fd", pid)
			if dir, err := os.Open(folder); err == nil {
				names, _ := dir.Readdirnames(-1)
				_ = dir.Close()
				for _, name := range names {
					add(filepath.Join(folder, name), unix.Stat)
				}
			}
		}
		return nil
	})
	return size, number
}
