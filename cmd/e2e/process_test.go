package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// footprint is a process's resources according to the system.
type footprint struct {
	descriptors, threads int
	anonymous            int64 // bytes of private memory (RssAnon)
	cpu                  time.Duration
}

func (f footprint) String() string {
	return fmt.Sprintf("%d descriptors, %d threads, %d KiB", f.descriptors, f.threads, f.anonymous>>10)
}

func footprintOf(t *testing.T, pid int) footprint {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := footprint{descriptors: len(files), cpu: cpuOf(t, pid)}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch name {
		case "Threads":
			f.threads, _ = strconv.Atoi(fields[0])
		case "RssAnon":
			kib, _ := strconv.ParseInt(fields[0], 10, 64)
			f.anonymous = kib << 10
		}
	}
	return f
}

// cpuOf returns the CPU time of a process, in ticks of 10 ms.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name may contain blanks
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// openFiles counts a process's open files by kind, for messages.
func openFiles(pid int) map[string]int {
	kinds := map[string]int{}
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		name, err := os.Readlink(link)
		if err != nil {
			continue
		}
		name, _, _ = strings.Cut(name, "[") // socket:[12345]
		kinds[name]++
	}
	return kinds
}

// asOne returns the user who runs the tests, for tests where the appliance's user makes no
// difference.
func asOne() identity {
	if os.Geteuid() == 0 {
		return identity{name: "root"}
	}
	return identity{name: "user"}
}

// long reports whether tests use the full durations and sizes of the design; otherwise they
// are scaled to a minute in total.
func long() bool { return os.Getenv("SLUICE_E2E_LONG") != "" }

// soak returns the additional duration of load and changes in `make soak`.
func soak(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("SLUICE_E2E_SOAK"), "0"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// choose returns the value for the long run or for the short run.
func choose[T any](whenLong, whenShort T) T {
	if long() {
		return whenLong
	}
	return whenShort
}
