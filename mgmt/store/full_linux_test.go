package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// TestAFullOrReadOnlyDiskKeepsTheOldState runs in a child with its own mount namespace, on a
// small file system.
func TestAFullOrReadOnlyDiskKeepsTheOldState(t *testing.T) {
	cmd := child("full", t.TempDir())
	cmd.Stderr = nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if text := string(out); strings.Contains(text, "skip:") || (err != nil && !isExit(err)) {
		t.Skipf("a small file system cannot be mounted here: %s %v", text, err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func isExit(err error) bool { _, ok := err.(*exec.ExitError); return ok }

// fillDisk is the child: it exits with status 0 on success.
func fillDisk(dir string) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println("skip:", err)
		os.Exit(0)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=400k"); err != nil {
		fmt.Println("skip:", err)
		os.Exit(0)
	}
	began := time.Now()
	s, err := store.Open(dir)
	check(err)
	n := 0
	for ; err == nil; n++ {
		_, err = s.Commit(killable(n+1), store.Meta{Author: "root"})
	}
	last := n - 1
	if why := s.Ready(); why == nil || !errors.Is(why, syscall.ENOSPC) || !strings.Contains(why.Error(), "is full: make room there") {
		fail("it was not known beforehand: %v", why)
	}
	fmt.Printf("%v revision %d: %v\n", time.Since(began), n, err)
	if !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), filepath.Join(dir, store.FileName)) ||
		!strings.Contains(err.Error(), "the disk mounted at "+dir+" (tmpfs) is full: make room there") {
		fail("the error does not say that the disk is full")
	}
	holds(s, last)
	check(s.Close())
	s, err = store.Open(dir)
	check(err)
	holds(s, last)
	check(syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=4m"))
	check(s.Ready())
	if _, err := s.Commit(killable(last+1), store.Meta{}); err != nil {
		fail("with room again: %v", err)
	}
	holds(s, last+1)
	check(s.Close())
	copiesOrNothing(dir)
	check(syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	_, err = store.Open(dir)
	fmt.Printf("%v read-only: %v\n", time.Since(began), err)
	if err == nil || !strings.Contains(err.Error(), "read-only file system") || !strings.Contains(err.Error(), "mounted at "+dir) || !strings.Contains(err.Error(), "mount it writable") {
		fail("the error does not say that the directory is read-only")
	}
	os.Exit(0)
}

// copiesOrNothing opens a store of layout 4 without room for its copy.
func copiesOrNothing(dir string) {
	dir = filepath.Join(dir, "old")
	check(os.Mkdir(dir, 0o700))
	old, err := os.ReadFile("testdata/layout4.db")
	check(err)
	path := filepath.Join(dir, store.FileName)
	check(os.WriteFile(path, old, 0o600))
	check(syscall.Mount("", filepath.Dir(dir), "", syscall.MS_REMOUNT, "size="+strconv.Itoa(used(dir)+len(old)/2)))
	_, err = store.Open(dir)
	if err == nil || !strings.Contains(err.Error(), "is full: make room there") {
		fail("a copy that has no room: %v", err)
	}
	files, err := os.ReadDir(dir)
	check(err)
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) || len(files) != 1 {
		fail("a copy that had no room left %v (%v)", files, err)
	}
	check(syscall.Mount("", filepath.Dir(dir), "", syscall.MS_REMOUNT, "size=4m"))
	s, err := store.Open(dir)
	check(err)
	check(s.Close())
	if kept, err := os.ReadFile(path + ".layout4"); err != nil || len(kept) == 0 {
		fail("no copy where there is room: %v", err)
	}
}

// used returns the number of used bytes of a file system.
func used(dir string) int {
	var fs syscall.Statfs_t
	check(syscall.Statfs(dir, &fs))
	return int((fs.Blocks - fs.Bfree) * uint64(fs.Bsize))
}

func holds(s *store.Store, n int) {
	cfg, rev := s.Current()
	if int(rev.Number) != n || !reflect.DeepEqual(cfg, killable(n)) {
		fail("current is revision %d, want %d", rev.Number, n)
	}
	history, err := s.History(1000, 0)
	check(err)
	if len(history) != n {
		fail("the history has %d revisions, want %d", len(history), n)
	}
	var want *farm.Config
	for at := 1; at <= n; at++ {
		want = killable(at)
		if got, _, err := s.Get(uint64(at)); err != nil || !reflect.DeepEqual(got, want) {
			fail("revision %d: %v", at, err)
		}
	}
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}
