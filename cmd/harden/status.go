package harden

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Status is the effective protection of a process as reported by the kernel.
type Status struct {
	UID int `json:"uid"`
	// Capabilities is the effective set as a bit mask. Bounding is the set that exec
	// could gain.
	Capabilities uint64 `json:"capabilities"`
	Bounding     uint64 `json:"bounding"`
	NoNewPrivs   bool   `json:"no_new_privs"`
	Seccomp      bool   `json:"seccomp"`
	// Landlock is the ABI version of the kernel if the restriction is in force, else 0.
	// LandlockMissing is the reason, empty if the role does not use Landlock.
	Landlock        int    `json:"landlock"`
	LandlockMissing string `json:"landlock_missing,omitempty"`
}

// String returns the short form for logs and tables.
func (s Status) String() string {
	parts := []string{"uid " + strconv.Itoa(s.UID)}
	parts = append(parts, capabilityNames(s.Capabilities))
	if s.NoNewPrivs {
		parts = append(parts, "no new privileges")
	}
	if s.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock (ABI %d)", s.Landlock))
	} else if s.LandlockMissing != "" {
		parts = append(parts, "no landlock: "+s.LandlockMissing)
	}
	if s.Seccomp {
		parts = append(parts, "seccomp")
	}
	return strings.Join(parts, ", ")
}

// capabilityNames returns the names of the set. Only netd and progd have one that is
// neither empty nor full.
func capabilityNames(set uint64) string {
	if set == 0 {
		return "no capabilities"
	}
	var names []string
	for _, c := range []struct {
		number Capability
		name   string
	}{{unix.CAP_NET_BIND_SERVICE, "net_bind_service"}, {unix.CAP_NET_ADMIN, "net_admin"}, {unix.CAP_NET_RAW, "net_raw"},
		{unix.CAP_SETUID, "setuid"}, {unix.CAP_SETGID, "setgid"}, {unix.CAP_SETPCAP, "setpcap"}, {unix.CAP_KILL, "kill"}} {
		if set&(1<<c.number) != 0 {
			names = append(names, c.name)
			set &^= 1 << c.number
		}
	}
	if set != 0 {
		names = append(names, fmt.Sprintf("%#x", set))
	}
	return "capabilities " + strings.Join(names, " ")
}

// Read returns the state of the calling process from the kernel, without Landlock, which
// the kernel does not report.
func Read() (Status, error) {
	// The descriptor was opened at start, because the engine cannot open files later.
	b := make([]byte, 8192)
	n, err := statusFile.ReadAt(b, 0)
	if n == 0 {
		return Status{}, fmt.Errorf("reading /proc/self/status: %w", err)
	}
	s := Status{UID: os.Geteuid()}
	for line := range strings.SplitSeq(string(b[:n]), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if err := s.set(name, strings.TrimSpace(value)); err != nil {
			return Status{}, fmt.Errorf("/proc/self/status: %s: %w", name, err)
		}
	}
	return s, nil
}

func (s *Status) set(name, value string) (err error) {
	switch name {
	case "CapEff":
		s.Capabilities, err = strconv.ParseUint(value, 16, 64)
	case "CapBnd":
		s.Bounding, err = strconv.ParseUint(value, 16, 64)
	case "NoNewPrivs":
		s.NoNewPrivs = value == "1"
	case "Seccomp":
		s.Seccomp = value == "2"
	}
	return err
}

// statusFile is opened at program start, before access to files is restricted.
var statusFile, _ = os.Open("/proc/self/status")

// kernelFiles returns the highest useful limit of open files, or 0 if unknown.
func kernelFiles() uint64 {
	b, _ := os.ReadFile("/proc/sys/fs/nr_open")
	n, _ := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return min(n, 1<<20)
}
