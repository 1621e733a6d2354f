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

// Limits are what one program may use at a time, with all its processes.
type Limits struct {
	Memory    uint64 // bytes
	Processes int
	// Files is what it may have written, in bytes: files in its folder, and those it has
	// open elsewhere, removed or in memory.
	Files uint64
}

// maxFiles is how many files a program may have in its folder.
const maxFiles = 10000

// Watch knows what the processes of boxes use in all. It reads /proc once for all boxes.
type Watch struct {
	limits Limits

	mu   sync.Mutex
	at   time.Time
	used map[owner]usage
}

// owner is whose processes are added up: those of a user, or of a mark.
type owner struct {
	uid  int
	mark uint64
}

type usage struct {
	memory uint64
	pids   []int
}

// NewWatch returns a Watch with these limits.
func NewWatch(l Limits) *Watch { return &Watch{limits: l} }

// excess says what the program in a box went beyond, "" for nothing.
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

// look adds up what the descendants of this process use.
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

// statusOf reads whose a process is, and how much memory it holds, in bytes.
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

// written adds up the files of a program: those in its folder, and those that its processes
// have open, which may have been removed or never had a name. Only a thread in the sandbox of
// the program may look at these.
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
