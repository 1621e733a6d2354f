// Package trim returns unused memory of a process to the kernel after the start, and
// periodically after that.
//
// Every role is the complete program: it initializes all packages, runs code that is
// never used again, and leaves garbage below the threshold of the collector. That is most
// of the memory of an idle process. After frees garbage, unused pages of the heap, and
// mapped pages of the program. Pages of the program that are needed again are mapped on
// their next use, sixteen at a time and without disk reads. The others stay in the page
// cache, which the kernel reclaims as needed. Processes with a small heap are trimmed
// repeatedly, because even an idle process collects some MiB of garbage until the
// collector runs.
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

// span is a range of the address space.
type span struct{ start, end uintptr }

// Every is the interval of trimming. Heaps up to Little are always trimmed, because a
// collection then takes two milliseconds. Garbage of Much or more is always collected.
const (
	Every  = 30 * time.Second
	Little = 16 << 20 // bytes of heap
	Much   = 64 << 20
)

// After trims the process after d, and then every Every if its heap is small, contains
// much garbage, or has grown much since it was last trimmed. It reads the mapping of the program at once, because a role may not read
// it later.
func After(d time.Duration) {
	program := ownProgram()
	repeat(d, heap, func() {
		debug.FreeOSMemory() // first, because the collector uses the program
		unmap(program)
	})
}

// repeat calls trim after d, and then at every interval at which it is worthwhile. A heap that
// has grown is trimmed, too: the last collection may have been in the middle of a large change,
// e.g. the import of a zone, whose memory is garbage by now.
func repeat(d time.Duration, heap func() usage, trim func()) {
	var kept uint64 // least resident bytes since the last trimming
	now := func() {
		trim()
		kept = heap().resident
	}
	var again func()
	again = func() {
		u := heap()
		kept = min(kept, u.resident) // the runtime returns memory, too, and growth counts from there
		if u.held <= Little || u.garbage >= Much || u.resident >= kept+Much {
			now()
		}
		time.AfterFunc(Every, again)
	}
	time.AfterFunc(d, func() {
		now()
		time.AfterFunc(Every, again)
	})
}

// usage describes a heap: the bytes of objects, of those allocated since the last
// collection, and of all memory that it has not returned to the kernel. In an idle process,
// most of the second are garbage.
type usage struct{ held, garbage, resident uint64 }

func heap() usage {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	held := s[0].Value.Uint64()
	return usage{held, held - min(held, s[1].Value.Uint64()), held + s[2].Value.Uint64() + s[3].Value.Uint64()}
}

// ProgramAfter is After for a process that soon needs its heap: it unmaps only the
// program.
func ProgramAfter(d time.Duration) {
	program := ownProgram()
	time.AfterFunc(d, func() { unmap(program) })
}

// Large is the size in bytes from which a configuration takes long to read and leaves
// much garbage. Zones with some hundred thousand records exceed it; a thousand farms do
// not.
const Large = 8 << 20

// Longest bounds the duration of While, in case done is never called.
const Longest = time.Minute

// While covers the time in which a process reads a configuration file, described by the
// results of Stat. It ends when done is called, and after Longest. For a large file the
// collector runs a tenth as often, because most new objects survive and each collection
// scans all of them. Garbage is freed one second after the end. Otherwise the heap could
// grow to twice its size.
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

const seldom = 1000

func ownProgram() []span {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil // the heap can be trimmed without it
	}
	return readOnly(string(maps), reflect.ValueOf(After).Pointer())
}

func unmap(program []span) {
	for _, s := range program {
		// After an error the pages stay mapped, e.g. because they are locked.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, s.start, s.end-s.start, syscall.MADV_DONTNEED)
	}
}

// readOnly returns the read-only mappings of the file that is mapped at within. Their
// content equals the file. The format of maps is that of /proc/self/maps.
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
