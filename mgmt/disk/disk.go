// Package disk says what to do when a disk is full, read-only or broken: which
// one it is, and what helps. The system's own words name neither. It writes files
// that are whole even when the machine dies.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Error is an error of the disk that holds a path. Its text is for people who
// run the appliance, and says what to do.
type Error struct {
	mount  mount
	err    error
	advice string
}

// Error says what failed, which disk it was and what to do.
func (e *Error) Error() string { return fmt.Sprintf("%v: %s %s", e.err, e.mount, e.advice) }

// Unwrap returns what the system said.
func (e *Error) Unwrap() error { return e.err }

// advices are what to do, by what the system says.
var advices = []struct {
	errno  syscall.Errno
	advice string
}{
	{syscall.ENOSPC, "is full: make room there"},
	{syscall.EDQUOT, "has no room left for the user of sluice: raise the quota, or make room there"},
	{syscall.EROFS, "is read-only: mount it writable; if nobody made it so, the log of the kernel (dmesg) says why"},
	{syscall.EIO, "fails: look into the log of the kernel (dmesg), replace it and restore a backup"},
}

// Explain returns an *Error around an error about path that a disk is the cause
// of. Every other one, nil included, is returned as it is.
func Explain(path string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	for _, a := range advices {
		if errors.Is(err, a.errno) {
			return &Error{mountOf(path), err, a.advice}
		}
	}
	return err
}

// Room returns why that many bytes cannot be written to the disk that holds path,
// as far as it tells beforehand: the *Error that writing would end with.
func Room(path string, bytes uint64) error {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return nil // the write will fail with it
	}
	return room(path, &fs, bytes)
}

func room(path string, fs *syscall.Statfs_t, bytes uint64) error {
	switch {
	case fs.Flags&readOnly != 0:
		return Explain(path, &os.PathError{Op: "write", Path: path, Err: syscall.EROFS})
	case fs.Bavail*uint64(fs.Bsize) < bytes:
		return Explain(path, &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
	}
	return nil
}

// readOnly is ST_RDONLY of statfs(2).
const readOnly = 1

// mount is a mounted file system.
type mount struct{ point, source string }

// String names the disk.
func (m mount) String() string {
	if m.point == "" {
		return "the disk"
	}
	return fmt.Sprintf("the disk mounted at %s (%s)", m.point, m.source)
}

// mountOf finds the file system that holds path, the empty one if the system
// does not tell.
func mountOf(path string) mount {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mount{}
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return find(string(table), path)
}

// find looks a path up in a table as proc_pid_mountinfo(5) describes it: the
// longest mount point above the path counts, of several the last.
func find(table, path string) (found mount) {
	for line := range strings.Lines(table) {
		before, after, ok := strings.Cut(line, " - ")
		fields, about := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(about) < 2 {
			continue
		}
		m := mount{point: unescape(fields[4]), source: unescape(about[1])}
		if above(m.point, path) && len(m.point) >= len(found.point) {
			found = m
		}
	}
	return found
}

func above(point, path string) bool {
	return point == "/" || path == point || strings.HasPrefix(path, point+"/")
}

// unescape turns what the kernel writes for blanks and backslashes back.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
