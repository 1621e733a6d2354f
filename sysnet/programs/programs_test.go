package programs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/shm/shmtest"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// house is a server with boxes and a client.
type house struct {
	*programs.Client
	folder    string // of programs
	temporary string
}

// newHouse starts a server with boxes of the uids; 0 means that of this process.
func newHouse(t *testing.T, uids ...uint32) *house {
	t.Helper()
	h := &house{folder: t.TempDir(), temporary: t.TempDir()}
	for dir := h.temporary; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	must(t, os.Chmod(h.temporary, 0o1777))
	must(t, os.Chmod(h.folder, 0o755))
	ours, theirs := shmtest.Pair(t)
	var boxes []*programs.Box
	watch := programs.NewWatch(programs.Limits{Memory: 64 << 20, Processes: 8, Files: 16 << 20})
	for _, uid := range uids {
		boxes = append(boxes, &programs.Box{UID: uid, GID: uid, Temporary: h.temporary, Watch: watch, Log: slog.Default()})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = programs.Serve(ctx, theirs, programs.Options{Boxes: boxes, Folders: []string{h.folder}, Log: slog.Default()})
	}()
	t.Cleanup(func() { cancel(); <-done; ours.Close(); theirs.Close() })
	h.Client = programs.NewClient(ours)
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// script writes a shell script into the folder and runs it.
func (h *house) script(t *testing.T, body string, change ...func(*programs.Call)) programs.End {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(h.folder, "it"), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	c := programs.Call{Folder: h.folder, File: "it", Name: "it", Limit: time.Minute}
	for _, f := range change {
		f(&c)
	}
	e, err := h.Run(t.Context(), c)
	must(t, err)
	return e
}

func TestProgramOutputAndExitAreReturned(t *testing.T) {
	h := newHouse(t, 0)
	e := h.script(t, `echo "$1 $X"; cat; echo wrong >&2; exit 3`, func(c *programs.Call) {
		c.Args, c.Env, c.Input, c.Split = []string{"$(id)"}, []string{"X=`id`"}, []byte("in"), true
	})
	if string(e.Output) != "$(id) `id`\nin" || string(e.Errors) != "wrong\n" || e.Exit != 3 {
		t.Errorf("%q %q %+v", e.Output, e.Errors, e)
	}
	if e := h.script(t, "kill -SEGV $$"); e.Signal != int(syscall.SIGSEGV) {
		t.Errorf("%+v", e)
	}
	if e := h.script(t, "sleep 300", func(c *programs.Call) { c.Limit = 100 * time.Millisecond }); !e.Late {
		t.Errorf("%+v", e)
	}
	if e := h.script(t, "head -c 100000 /dev/zero"); !e.Full || len(e.Output) != 4<<10 {
		t.Errorf("%d bytes, full %t", len(e.Output), e.Full)
	}
}

// The wait for a box has a limit of its own, so that a program is never late for having waited.
func TestQueuedProgramGetsItsFullTimeout(t *testing.T) {
	h := newHouse(t, 0)
	for name, body := range map[string]string{"first": "sleep 2", "second": "sleep 1.5"} {
		must(t, os.WriteFile(filepath.Join(h.folder, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	}
	call := func(name string, limit time.Duration, started func()) programs.End {
		e, err := h.Run(t.Context(), programs.Call{
			Folder: h.folder, File: name, Name: name, Limit: limit, Started: started,
		})
		if err != nil {
			t.Error(err)
		}
		return e
	}
	runs, done := make(chan struct{}), make(chan programs.End, 1)
	began := time.Now()
	go func() { done <- call("first", time.Minute, func() { close(runs) }) }()
	<-runs
	if e := call("second", 100*time.Millisecond, nil); !strings.Contains(e.Unstarted, "none ended in time") {
		t.Errorf("while another runs: %+v", e)
	}
	var waited time.Duration
	e := call("second", 3*time.Second, func() { waited = time.Since(began) })
	if e.Late || e.Unstarted != "" || e.Exit != 0 {
		t.Errorf("after a wait: %+v", e)
	}
	if first := <-done; first.Exit != 0 || waited < 1900*time.Millisecond {
		t.Errorf("%+v, and the other one started after %v", first, waited)
	}
}

func TestOnlyProgramsOfTheFoldersAreStarted(t *testing.T) {
	h := newHouse(t, 0)
	for _, c := range []programs.Call{
		{Folder: "/bin", File: "true"}, {Folder: h.folder, File: "../it"}, {Folder: h.folder, File: ".."}, {Folder: h.folder + "/../../../bin", File: "true"},
		{Folder: h.folder, File: "none"},
	} {
		c.Limit = time.Minute
		if e, err := h.Run(t.Context(), c); err != nil || e.Unstarted == "" {
			t.Errorf("%+v: %+v, %v", c, e, err)
		}
	}
}

func TestPassedFileRunsInItsPrivateFolder(t *testing.T) {
	h := newHouse(t, 0)
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\npwd; echo x > mine; ls\n"), 0o700))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	e, err := h.Run(t.Context(), programs.Call{Folder: "hooks", File: "secret", Name: "./secret", Limit: time.Minute}, f)
	must(t, err)
	if !bytes.HasPrefix(e.Output, []byte(h.temporary)) || !bytes.Contains(e.Output, []byte("mine\nsecret")) {
		t.Errorf("%q %+v", e.Output, e)
	}
	if left, _ := os.ReadDir(h.temporary); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestACallEndsWithItsCaller(t *testing.T) {
	h := newHouse(t, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	must(t, os.WriteFile(filepath.Join(h.folder, "it"), []byte("#!/bin/sh\nsleep 300\n"), 0o755))
	if e, err := h.Run(ctx, programs.Call{Folder: h.folder, File: "it", Name: "it", Limit: time.Minute}); err != nil || !e.Late {
		t.Errorf("%+v, %v", e, err)
	}
	if e := h.script(t, "exit 0"); e.Exit != 0 || e.Unstarted != "" { // the only box is free again
		t.Errorf("%+v", e)
	}
}

func TestBoxKillsProcessesInOtherSessions(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: programs get a user of their own")
	}
	h := newHouse(t, 61170)
	pids := filepath.Join(h.temporary, "pids")
	e := h.script(t, fmt.Sprintf("id -u; : > %s; for i in 1 2 3; do setsid sh -c 'echo $$ >> %s; exec sleep 300' >/dev/null 2>&1 & done; while [ $(wc -l < %s) -lt 3 ]; do sleep 0.02; done", pids, pids, pids))
	if string(e.Output) != "61170\n" {
		t.Fatalf("%q %+v", e.Output, e)
	}
	b, err := os.ReadFile(pids)
	must(t, err)
	for _, pid := range strings.Fields(string(b)) {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && !strings.Contains(string(state), ") Z ") && !strings.Contains(string(state), ") X ") {
			t.Errorf("process %s still runs: %s", pid, state)
		}
	}
	if e := h.script(t, "mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a"); e.Exit != 0 {
		t.Errorf("%+v", e)
	}
	left, _ := filepath.Glob(filepath.Join(h.temporary, "sluice-program-*"))
	if len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestExcessiveProgramsAreKilled(t *testing.T) {
	h := newHouse(t, 0)
	if e := h.script(t, "i=0; while [ $i -lt 20 ]; do sleep 300 & i=$((i+1)); done; wait"); !strings.Contains(e.Excess, "processes") {
		t.Errorf("%+v", e)
	}
	if e := h.script(t, "x=$(head -c 150000000 /dev/zero | tr '\\0' x); sleep 300"); !strings.Contains(e.Excess, "MiB of memory") {
		t.Errorf("%+v", e)
	}
}

// Folders of a killed progd are deleted by its successor.
func TestFoldersOfADeadServerAreRemoved(t *testing.T) {
	uids := []uint32{0}
	if os.Geteuid() == 0 {
		uids = append(uids, 61170)
	}
	for _, uid := range uids {
		temporary := t.TempDir()
		for dir := temporary; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			must(t, os.Chmod(dir, 0o755))
		}
		must(t, os.Chmod(temporary, 0o777))
		dead, living, others := filepath.Join(temporary, fmt.Sprintf("sluice-program-%d-1", 1<<30)), filepath.Join(temporary, fmt.Sprintf("sluice-program-%d-1", os.Getpid())), filepath.Join(temporary, "other")
		for _, folder := range []string{dead, living, others} {
			must(t, os.Mkdir(folder, 0o700))
			must(t, os.WriteFile(filepath.Join(folder, "x"), nil, 0o600))
			if uid != 0 {
				must(t, os.Chown(folder, int(uid), int(uid)))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		gone, c := shmtest.Pair(t)
		_ = gone.Close()
		_ = programs.Serve(ctx, c, programs.Options{Log: slog.Default(), Boxes: []*programs.Box{{UID: uid, GID: uid, Temporary: temporary, Log: slog.Default()}}})
		_ = c.Close()
		for folder, stays := range map[string]bool{dead: false, living: uid == 0, others: true} {
			if _, err := os.Stat(folder); (err == nil) != stays {
				t.Errorf("uid %d: that %s stays is %t", uid, filepath.Base(folder), err == nil)
			}
		}
	}
}

// Without a dedicated user, the mark identifies the processes of a program.
func TestBoxWithoutAUserKillsHiddenProcesses(t *testing.T) {
	h := newHouse(t, 0, 0)
	pids := filepath.Join(h.temporary, "pids")
	hide := fmt.Sprintf("for i in 1 2 3; do (setsid setsid sh -c 'echo $$ >> %s; exec sleep 300' </dev/null >/dev/null 2>&1 &) ; done; while ! [ -e %s ] || [ $(wc -l < %s) -lt 3 ]; do sleep 0.02; done", pids, pids, pids)
	for _, end := range []string{"exit 0", "sleep 300"} {
		e := h.script(t, hide+"; "+end, func(c *programs.Call) { c.Limit = 3 * time.Second })
		if e.Late == (end == "exit 0") {
			t.Errorf("%s: %+v", end, e)
		}
		b, err := os.ReadFile(pids)
		must(t, err)
		for _, pid := range strings.Fields(string(b)) {
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			if err == nil && !strings.Contains(string(state), ") Z ") && !strings.Contains(string(state), ") X ") {
				t.Errorf("process %s still runs: %s", pid, state)
			}
		}
		must(t, os.Remove(pids))
	}
}

// The end of one program does not affect another.
func TestProgramsThatRunAtOnceDoNotEndEachOther(t *testing.T) {
	h := newHouse(t, 0, 0)
	must(t, os.WriteFile(filepath.Join(h.folder, "long"), []byte("#!/bin/sh\nsleep 2 &\nwait $!\necho whole\n"), 0o755))
	done := make(chan programs.End)
	go func() {
		e, _ := h.Run(t.Context(), programs.Call{Folder: h.folder, File: "long", Name: "long", Limit: time.Minute})
		done <- e
	}()
	for {
		select {
		case e := <-done:
			if string(e.Output) != "whole\n" || e.Exit != 0 {
				t.Errorf("%+v", e)
			}
			return
		default:
			h.script(t, "(setsid sleep 300 </dev/null >/dev/null 2>&1 &)")
		}
	}
}

func TestDeletedFilesCountAgainstTheLimit(t *testing.T) {
	h := newHouse(t, 0)
	for _, body := range []string{
		"head -c 30000000 /dev/zero > $TMPDIR/x; sleep 300",
		"exec 3>$TMPDIR/x; rm $TMPDIR/x; head -c 30000000 /dev/zero >&3; sleep 300",
	} {
		if e := h.script(t, body); !strings.Contains(e.Excess, "it wrote more than 16 MiB") {
			t.Errorf("%s: %+v", body, e)
		}
	}
}

func TestFilesNextToAProgramAreCopied(t *testing.T) {
	h := newHouse(t, 0)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "it"), []byte("#!/bin/sh\n. ./lib; ./other\n"), 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "lib"), []byte("echo lib\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "other"), []byte("#!/bin/sh\necho other\n"), 0o700))
	var files []*os.File
	for _, name := range []string{"it", "lib", "other"} {
		f, err := os.Open(filepath.Join(folder, name))
		must(t, err)
		defer f.Close()
		files = append(files, f)
	}
	c := programs.Call{File: "it", Name: "./it", Beside: []string{"lib", "other"}, Limit: time.Minute}
	e, err := h.Run(t.Context(), c, files...)
	must(t, err)
	if string(e.Output) != "lib\nother\n" {
		t.Errorf("%q %+v", e.Output, e)
	}
	for _, wrong := range [][]string{{"lib"}, {"lib", "../x"}, {"lib", "other", "more"}} {
		c.Beside = wrong
		if e, err := h.Run(t.Context(), c, files...); err != nil || e.Unstarted == "" {
			t.Errorf("%v: %+v, %v", wrong, e, err)
		}
	}
}

// A caller can distinguish a program that never started from one whose result is unknown.
func TestLostProgdIsNotAProgramResult(t *testing.T) {
	mine, theirs := shmtest.Pair(t)
	c := programs.NewClient(mine)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if e, err := c.Run(ctx, programs.Call{Limit: time.Minute}); !errors.Is(err, programs.ErrUnavailable) {
		t.Errorf("without a server: %+v, %v", e, err)
	}
	_ = theirs.Close()
	if e, err := c.Run(t.Context(), programs.Call{Limit: time.Minute}); !errors.Is(err, programs.ErrUnavailable) {
		t.Errorf("it is gone: %+v, %v", e, err)
	}
}
