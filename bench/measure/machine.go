package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Busy returns the time all processors together spent running tasks since
// boot: exact to the nanosecond where /proc/schedstat exists, otherwise in
// steps of 10 ms from /proc/stat.
func Busy() (time.Duration, error) {
	if text, err := os.ReadFile("/proc/schedstat"); err == nil {
		if d, err := parseBusySched(string(text)); err == nil {
			return d, nil
		}
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusyStat(string(text))
}

// parseBusySched sums field 7 of the cpu lines of /proc/schedstat, "time spent
// running by tasks on this processor".
func parseBusySched(text string) (time.Duration, error) {
	var sum time.Duration
	found := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		ns, err := strconv.ParseInt(fields[7], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("schedstat of %s: %w", fields[0], err)
		}
		sum += time.Duration(ns)
		found = true
	}
	if !found {
		return 0, fmt.Errorf("schedstat has no cpu line")
	}
	return sum, nil
}

// parseBusyStat sums user, nice, system, irq, softirq and steal of the first
// line of /proc/stat.
func parseBusyStat(text string) (time.Duration, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("first line of /proc/stat is %q instead of the cpu line", line)
	}
	var sum int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// Machine describes where a run took place.
type Machine struct {
	Kernel      string `json:"kernel"`
	Processor   string `json:"processor"`
	CPUs        int    `json:"cpus"`
	MemoryMiB   int    `json:"memory_mib"`
	Descriptors uint64 `json:"descriptor_limit"`
}

// Describe returns the properties of the machine; unreadable ones stay empty.
func Describe(cpus int, descriptors uint64) Machine {
	m := Machine{CPUs: cpus, Descriptors: descriptors}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	m.Processor = procField("/proc/cpuinfo", "model name")
	if kb, err := strconv.Atoi(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.MemoryMiB = kb / 1024
	}
	return m
}

func procField(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
