package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This test binary is also the program, when it is called as a role is or SLUICE_ARGS
// has its arguments.
func TestMain(m *testing.M) {
	args, is := os.LookupEnv("SLUICE_ARGS")
	if is {
		version = "1.2.3"
		if os.Args = os.Args[:1]; args != "" {
			os.Args = append([]string{"sluice"}, strings.Fields(args)...)
		}
		main()
	}
	os.Exit(m.Run())
}

func TestTheProgramIsARoleOrTheCommandLine(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		name, args string
		status     int
		out, wrong string
	}{
		{"sluice", "version --data " + nothing, 0, "sluice 1.2.3\n", ""},
		{"sluice", "farm show", 2, "", "missing argument"},
		{"sluice", "run nonsense", 2, "", "nonsense"},
		{"sluice", "system kernel --data " + nothing, 1, "", nothing},
		{"sluice: engine", "", 1, "", "level=ERROR"},
		{"sluice: nothing", "", 1, "", "level=ERROR"},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args[0] = c.name
		cmd.Env = append(os.Environ(), "SLUICE_ARGS="+c.args)
		var wrong strings.Builder
		cmd.Stderr = &wrong
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.status || string(out) != c.out || !strings.Contains(wrong.String(), c.wrong) || c.wrong == "" && wrong.Len() > 0 {
			t.Errorf("%s %s: %v, said %q and %q, want status %d, %q and %q", c.name, c.args, err, out, &wrong, c.status, c.out, c.wrong)
		}
	}
}

func TestADirectoryOfNoApplianceHasNoLeftovers(t *testing.T) {
	if list, err := leftovers(t.Context(), filepath.Join(t.TempDir(), "none"), false, false); list != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", list, err)
	}
}
