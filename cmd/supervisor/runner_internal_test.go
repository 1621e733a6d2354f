package supervisor

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor/line"
)

// script is a role that runs a shell script.
func script(t *testing.T, text string) (*runner, *bytes.Buffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "role")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	return &runner{name: "test", program: path, said: io.Discard, log: slog.New(slog.NewTextHandler(&said, nil)), role: line.Role{Name: "test"},
		final: make(chan struct{}), stopped: make(chan struct{}), ended: make(chan struct{})}, &said
}

func TestExitStatusDecidesTheLogLevel(t *testing.T) {
	k, said := script(t, "exit 3")
	for restarts := range 2 {
		said.Reset()
		if k.live() || k.state().Restarts != restarts || k.state().PID != 0 {
			t.Errorf("life %d: %+v", restarts, k.state())
		}
		if text := said.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `level=INFO msg="role started" name=test pid=`) || !strings.Contains(text, `level=ERROR msg="role died" name=test`) || !strings.Contains(text, `status="exit status 3" after=`) {
			t.Errorf("it died:\n%s", text)
		}
	}
	k, said = script(t, "exit 78")
	if !k.live() || strings.Contains(said.String(), "role died") {
		t.Errorf("its last life:\n%s", said)
	}
	k, said = script(t, "exit 78")
	k.final = nil
	if k.live() || !strings.Contains(said.String(), "role died") {
		t.Errorf("the status is none of its own:\n%s", said)
	}
	k, said = script(t, "exec sleep 60")
	started := make(chan bool)
	go func() { started <- k.live() }()
	for k.state().PID == 0 {
		runtime.Gosched() // it is starting
	}
	k.stop()
	if <-started || !strings.Contains(said.String(), `level=INFO msg="role ended" name=test`) {
		t.Errorf("after stop:\n%s", said)
	}
	said.Reset()
	if k.live() || said.Len() != 0 {
		t.Errorf("a process was started after the stop, or logged:\n%s", said)
	}
}

func TestFailedStartIsReported(t *testing.T) {
	k, said := script(t, "")
	k.program += "-none"
	if k.live() || !strings.Contains(said.String(), `level=ERROR msg="role not started" name=test error="starting: `) {
		t.Errorf("log:\n%s", said)
	}
	if k.state().PID != 0 || k.post != nil || k.process != nil {
		t.Errorf("it has %+v", k.state())
	}
	k.kill() // without a process
	k.signal(LastClients)
	k.replace(1, 0, false, "it", 0)
	if strings.Contains(said.String(), "hangs") {
		t.Error("a role that does not run was replaced")
	}
}

// A hanging role is made to print its stacks, and killed if it does not end. A stopped role
// is continued for that.
func TestHangingRolePrintsItsStacksAndEnds(t *testing.T) {
	for _, test := range []struct {
		name, script string
		thread       bool // its own thread is signalled
		stopped      bool
		status       string
	}{
		{"its process", "exec sleep 60", false, false, "signal: quit"},
		{"its thread", "exec sleep 60", true, false, "signal: quit"},
		{"one that was stopped", "kill -STOP $$; sleep 60", false, true, "signal: quit"},
		{"one that does not hear", "trap '' QUIT; exec sleep 60", false, false, "signal: killed"},
	} {
		k, said := script(t, "ulimit -c 0; "+test.script)
		over := make(chan bool)
		go func() { over <- k.live() }()
		for k.state().PID == 0 {
			runtime.Gosched() // it is starting
		}
		pid := k.state().PID
		for { // until the shell runs the script
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if fields := strings.Fields(string(stat)); len(fields) > 2 && (test.stopped && fields[2] == "T" || !test.stopped && fields[1] == "(sleep)") {
				break
			}
			time.Sleep(time.Millisecond)
		}
		thread := 0
		if test.thread {
			thread = pid
		}
		k.replace(pid+1, 0, false, "another life", time.Second)
		k.replace(pid, thread, test.stopped, "a loop", 2*time.Second+300*time.Microsecond)
		if <-over {
			t.Errorf("%s: it was its last life", test.name)
		}
		text := said.String()
		if !strings.Contains(text, fmt.Sprintf(`level=ERROR msg="test hangs, it is replaced" what="a loop" hung=2s pid=%d`, pid)) || strings.Contains(text, "another life") {
			t.Errorf("%s: log:\n%s", test.name, text)
		}
		if !strings.Contains(text, `status="`+test.status) {
			t.Errorf("%s: it did not end by %q:\n%s", test.name, test.status, text)
		}
	}
}

// A role that dies is restarted at once, and with growing pauses up to a limit if it keeps
// dying.
func TestRestartPausesGrowUpToABound(t *testing.T) {
	pause := time.Duration(0)
	for _, want := range []time.Duration{100, 200, 400, 800, 1600, 2000, 2000} {
		if pause = nextPause(pause); pause != want*time.Millisecond {
			t.Errorf("after it %v, want %v", pause, want*time.Millisecond)
		}
	}
}
