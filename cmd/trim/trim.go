// Package trim makes a process small once it has started, and keeps it so.
//
// Every role is the whole program: each sets up all packages, runs code once
// that it never runs again, and leaves garbage that is less than what the
// collector waits for. At rest that is most of its memory. After gives it back:
// garbage and the pages of the heap it lay in, and the pages of the program
// that are mapped. What of the program is needed is mapped again when it is next
// used, sixteen pages at a time and without reading the disk; the rest stays in
// the page cache, which the kernel empties as it needs. A process that has little
// does so again and again: what it does at rest leaves garbage too, some MiB until the
// collector looks.
package trim

import (
	"os"
	"reflect"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// span is a part of the address space.
type span struct{ start, end uintptr }

// Every is how often a process with little memory is trimmed, Little how much that is:
// to collect its garbage takes two milliseconds then. Much is how much garbage is worth
// collecting whatever that takes.
const (
	Every  = 30 * time.Second
	Little = 16 << 20 // bytes of its heap
	Much   = 64 << 20
)

// After trims the process d from now, and every so often while its heap is small, or
// much of it garbage. What the program is mapped to is looked up at once: a role has no
// right to read it later.
func After(d time.Duration) {
	program := ownProgram()
	repeat(d, heap, func() {
		debug.FreeOSMemory() // first: the collector reads the program
		unmap(program)
	})
}

// repeat calls trim d from now, and from then on as often as it is worth that.
func repeat(d time.Duration, heap func() (held, garbage uint64), trim func()) {
	var again func()
	again = func() {
		if held, garbage := heap(); held <= Little || garbage >= Much {
			trim()
		}
		time.AfterFunc(Every, again)
	}
	time.AfterFunc(d, func() {
		trim()
		time.AfterFunc(Every, again)
	})
}

// heap is how many bytes of the heap hold something, and how many came since the
// collector looked last, of which most are garbage in a process at rest.
func heap() (held, garbage uint64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	held = s[0].Value.Uint64()
	return held, held - min(held, s[1].Value.Uint64())
}

// ProgramAfter is After for a process that soon needs its heap: its pages stay.
func ProgramAfter(d time.Duration) {
	program := ownProgram()
	time.AfterFunc(d, func() { unmap(program) })
}

// Large is how many bytes of a configuration take long to read and leave more garbage than
// it takes to collect it: zones of some hundred thousand records have as many, a thousand
// farms do not.
const Large = 8 << 20

// Longest is how long While holds at most: what the work waits for may never come.
const Longest = time.Minute

// While is for the time in which a process reads a file with a configuration, as Stat
// describes it; done ends it, and Longest does. When it is large the collector looks a quarter as often: most
// of what is made stays, and each look is at all of it. What is garbage in the end is given
// back, once the work that follows at once is done: the collector would keep as much again
// as the process needs.
func While(file os.FileInfo, err error) (done func()) {
	if err != nil || file.Size() <= Large {
		return func() {}
	}
	before := debug.SetGCPercent(seldom)
	end := sync.OnceFunc(func() {
		debug.SetGCPercent(before)
		time.AfterFunc(time.Second, debug.FreeOSMemory)
	})
	late := time.AfterFunc(Longest, end)
	return func() {
		late.Stop()
		end()
	}
}

const seldom = 400

func ownProgram() []span {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil // the heap can be trimmed without
	}
	return readOnly(string(maps), reflect.ValueOf(After).Pointer())
}

func unmap(program []span) {
	for _, s := range program {
		// An error leaves the pages where they are: they may be locked.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, s.start, s.end-s.start, syscall.MADV_DONTNEED)
	}
}

// readOnly lists the parts of the file that is mapped at the given address which
// cannot be written: they hold nothing that is not in the file. maps is in the
// form of /proc/self/maps.
func readOnly(maps string, within uintptr) []span {
	type mapping struct {
		span
		writable bool
		file     string // device and inode
	}
	var all []mapping
	var file string
	for line := range strings.Lines(maps) {
		f := strings.Fields(line)
		if len(f) < 6 || f[4] == "0" {
			continue // no file
		}
		low, high, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		end, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		m := mapping{span{uintptr(start), uintptr(end)}, strings.Contains(f[1], "w"), f[3] + " " + f[4]}
		if m.start <= within && within < m.end {
			file = m.file
		}
		all = append(all, m)
	}
	var out []span
	for _, m := range all {
		if m.file == file && !m.writable {
			out = append(out, m.span)
		}
	}
	return out
}
