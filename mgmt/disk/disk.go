// Package disk explains errors of a disk that is full, read-only or broken: it names the
// disk and the remedy, which the system's errors do not. It also writes files that are
// complete even after a crash of the machine.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Error is an error of the disk that holds a path. Its text is for operators and contains a
// remedy.
type Error struct {
	mount  mount
	err    error
	advice string
}

// Error returns the failure, the disk and the remedy.
func (e *Error) Error() string { return fmt.Sprintf("%v: %s %s", e.err, e.mount, e.advice) }

// Unwrap returns the system's error.
func (e *Error) Unwrap() error { return e.err }

// advices are the remedies by system error.
var advices = []struct {
	errno  syscall.Errno
	advice string
}{
	{syscall.ENOSPC, "is full: make room there"},
	{syscall.EDQUOT, "has no room left for the user of sluice: raise the quota, or make room there"},
	{syscall.EROFS, "is read-only: mount it writable; if nobody made it so, the log of the kernel (dmesg) says why"},
	{syscall.EIO, "fails: look into the log of the kernel (dmesg), replace it and restore a backup"},
}

// Explain returns an *Error around an error about path that was caused by a disk. Every
// other error, including nil, is returned unchanged.
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

// Room returns why that many bytes cannot be written to the disk that holds path, as far as
// this is known beforehand: the *Error that writing would end with.
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

// String returns the name of the disk.
func (m mount) String() string {
	if m.point == "" {
		return "the disk"
	}
	return fmt.Sprintf("the disk mounted at %s (%s)", m.point, m.source)
}

// mountOf finds the file system that holds path; it is empty if the system does not report
// it.
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

// find looks up a path in a table in the format of proc_pid_mountinfo(5): the longest mount
// point above the path counts, of several the last one.
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

// unescape reverts the kernel's escapes for blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
