package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// If a disk becomes full in the middle of a line, the line is removed.
func TestPartialLineIsRemoved(t *testing.T) {
	dir, done := t.TempDir(), make(chan error)
	go func() { // in a mount namespace of its own, which ends with its thread
		runtime.LockOSThread()
		err := syscall.Unshare(syscall.CLONE_NEWNS)
		if err == nil {
			err = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
		}
		if err == nil {
			err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k")
		}
		if err == nil {
			halfALine(t, dir)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
}

func halfALine(t *testing.T, dir string) {
	var said bytes.Buffer
	l, err := Open(dir, logger(&said), newClock().now)
	if err != nil {
		t.Error(err)
		return
	}
	defer l.Close()
	for said.Len() == 0 {
		l.Add(Entry{User: "ann", Path: "/farms"})
	}
	kept := l.last
	for _, step := range []string{"full", "with room again"} {
		if info, err := os.Stat(l.path); err != nil || info.Size() != l.written {
			t.Errorf("%s: %v, %d bytes are counted", step, err, l.written)
		}
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=1m"); err != nil {
			t.Error(err)
		}
		l.Add(Entry{User: "ann", Path: "/later"})
	}
	var all bytes.Buffer
	if err := l.Export(&all); err != nil || l.last != kept+2 || !strings.Contains(said.String(), "is full") {
		t.Errorf("%d lines, then %d, %v, logged %s", kept, l.last, err, said.String())
	}
	n := uint64(0)
	for line := range strings.Lines(all.String()) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Number != n+1 {
			t.Errorf("after line %d: %q, %v", n, line, err)
		}
		n++
	}
	if n != kept+2 {
		t.Errorf("%d lines, want %d", n, kept+2)
	}
}
