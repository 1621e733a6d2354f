package program_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
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

// queue starts a program after a wait, as progd does while it has no free box.
type queue struct{ wait, run time.Duration }

func (q queue) Run(ctx context.Context, c programs.Call, _ ...*os.File) (programs.End, error) {
	select {
	case <-ctx.Done():
		return programs.End{}, programs.ErrUnavailable
	case <-time.After(min(q.wait, c.Limit)):
		if q.wait > c.Limit {
			return programs.End{Unstarted: "too many run"}, nil
		}
	}
	c.Started()
	select {
	case <-ctx.Done():
		return programs.End{Late: true, Gone: true}, nil
	case <-time.After(min(q.run, c.Limit)):
		return programs.End{Late: q.run > c.Limit}, nil
	}
}

func TestQueueTimeIsNotBackendTime(t *testing.T) {
	const limit = 10 * time.Second
	for name, c := range map[string]struct {
		queue
		limited bool // by probe.Limited
		local   bool
		reason  string
	}{
		"waits for long":            {queue{9500 * time.Millisecond, time.Second}, true, false, ""},
		"waits for long and hangs":  {queue{9500 * time.Millisecond, time.Hour}, true, false, "was not done within 10s"},
		"hangs":                     {queue{0, time.Hour}, true, false, "was not done within 10s"},
		"never starts":              {queue{time.Hour, 0}, true, true, "too many run"},
		"a trial that waits":        {queue{9500 * time.Millisecond, time.Second}, false, true, "waited 9.5s"},
		"a trial that never starts": {queue{time.Hour, 0}, false, true, "too many run"},
		"a trial that hangs":        {queue{0, time.Hour}, false, false, "was not done within 10s"},
	} {
		dir := folder(t, "check_x", "exit 0")
		k := probe.Known{Program: program.Folders{dir}.Make}
		p, err := k.Parse("check_x")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			program.StartBy(c.queue, func(string) bool { return true })
			defer program.StartBy(nil, nil)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			waited := func() time.Duration { return c.wait }
			if c.limited {
				cancel()
				ctx, cancel, waited = probe.Limited(t.Context(), limit)
			}
			defer cancel()
			err := p.Run(ctx, nil, probe.Target{Addr: netip.MustParseAddr("10.0.0.1")}, func(string, ...any) {})
			switch {
			case (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason):
				t.Errorf("%s: %v, wanted %q", name, err, c.reason)
			case errors.Is(err, probe.ErrLocal) != c.local:
				t.Errorf("%s: a fault of this machine is %t: %v", name, !c.local, err)
			case !c.local && waited() != c.wait:
				t.Errorf("%s: waited %v", name, waited())
			}
		})
	}
}

// The end of the caller ends a program that runs beyond the time of its check.
func TestAProgramThatWaitedEndsWithItsCaller(t *testing.T) {
	dir := folder(t, "check_x", "exit 0")
	k := probe.Known{Program: program.Folders{dir}.Make}
	p, err := k.Parse("check_x")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		program.StartBy(queue{9 * time.Second, time.Hour}, func(string) bool { return true })
		defer program.StartBy(nil, nil)
		caller, end := context.WithCancel(t.Context())
		ctx, cancel, _ := probe.Limited(caller, 10*time.Second)
		defer cancel()
		began := time.Now()
		time.AfterFunc(12*time.Second, end)
		_ = p.Run(ctx, nil, probe.Target{Addr: netip.MustParseAddr("10.0.0.1")}, func(string, ...any) {})
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
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
			t.Errorf("%o, %t: got %d files, %v, want %d", c.mode, c.mayRun, s.files, err, c.files)
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
