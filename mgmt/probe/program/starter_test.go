package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// starter records whether it gets open files.
type starter struct {
	files  int
	beside []string
	end    programs.End
	err    error
}

func (s *starter) Run(_ context.Context, c programs.Call, files ...*os.File) (programs.End, error) {
	s.files, s.beside = len(files), c.Beside
	return s.end, s.err
}

func TestAPluginIsStartedByAnother(t *testing.T) {
	dir := folder(t, "check_x", "exit 0")
	s, mayRun := &starter{}, true
	program.StartBy(s, func(string) bool { return mayRun })
	t.Cleanup(func() { program.StartBy(nil, nil) })
	path := filepath.Join(dir, "check_x")
	for _, c := range []struct {
		mode   os.FileMode
		mayRun bool
		files  int
	}{{0o755, true, 0}, {0o700, true, 1}, {0o755, false, 1}} {
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		mayRun = c.mayRun
		if _, err := run(t, time.Minute, "check_x", dir); err != nil || s.files != c.files {
			t.Errorf("%o, %t: %d files, %v", c.mode, c.mayRun, s.files, err)
		}
	}
	for _, c := range []struct {
		end   programs.End
		err   error
		local bool
	}{{end: programs.End{Exit: 2}}, {end: programs.End{Late: true}}, {end: programs.End{Excess: "it used too much"}},
		{end: programs.End{Unstarted: "no room"}, local: true}, {err: programs.ErrUnavailable, local: true}} {
		s.end, s.err = c.end, c.err
		if _, err := run(t, time.Minute, "check_x", dir); err == nil || errors.Is(err, probe.ErrLocal) != c.local {
			t.Errorf("%+v, %v: %v", c.end, c.err, err)
		}
	}
}
