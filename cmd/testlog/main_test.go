package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain runs the command if the binary is called testlog.
func TestMain(m *testing.M) {
	if os.Args[0] == "testlog" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestThatFails fails if another test of this package requests it: once, or always if it
// cannot create the mark.
func TestThatFails(t *testing.T) {
	mark := os.Getenv("TESTLOG_FAILS")
	if mark == "" {
		return
	}
	if _, err := os.Stat(mark); err != nil {
		_ = os.WriteFile(mark, nil, 0o600)
		t.Error("it fails")
	}
}

func TestExitStatusReflectsTheResult(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "skips")
	if err := os.WriteFile(list, []byte("nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, fails string
		status      int
		says        string
	}{
		{". -- -run=TestThatFails", "", 0, "\n1 passed, 0 failed, 0 skipped\n"},
		{". -- -run=TestThatFails", dir + "/once", 0, "it fails\n\n0 passed, 0 failed, 0 skipped\n"},
		{". -- -run=TestThatFails", dir + "/none/always", 1, "\n0 passed, 1 failed, 0 skipped\n"},
		{"./nowhere", "", 1, "testlog: go list: "},
		{"-skips " + list + " .", "", 1, "testlog: " + list + ":1: "},
	} {
		cmd := exec.Command("/proc/self/exe", strings.Fields(c.args)...)
		cmd.Args[0] = "testlog"
		cmd.Env = append(os.Environ(), "TESTLOG_FAILS="+c.fails)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("testlog %s: %v, want %q, it said:\n%s", c.args, err, c.says, out)
		}
	}
}
