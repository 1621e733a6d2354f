package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/shm"
)

func TestGraceTimeIsPassedByTheSupervisor(t *testing.T) {
	for text, want := range map[string]time.Duration{"3s": 3 * time.Second, "": supervisor.DefaultGrace, "soon": supervisor.DefaultGrace} {
		t.Setenv(supervisor.GraceVariable, text)
		if got := GraceTime(); got != want {
			t.Errorf("grace %q is %v", text, got)
		}
	}
}

func TestUIDsArePassedByTheSupervisor(t *testing.T) {
	own := uint32(os.Geteuid())
	for text, want := range map[string]uint32{"7": 7, "4294967295": 1<<32 - 1, "4294967296": own, "-1": own, "": own, "root": own} {
		t.Setenv(supervisor.ManagerVariable, text)
		if got := UIDFrom(supervisor.ManagerVariable); got != want {
			t.Errorf("user %q is %d", text, got)
		}
	}
}

// A role ends if it fails to drop its privileges. A role stopped by a signal has not failed.
func TestARoleRunsHardenedUntilItIsStopped(t *testing.T) {
	wrong := errors.New("wrong")
	p := &Process{}
	hard := func() (harden.Status, error) { return harden.Status{UID: 9}, nil }
	for _, test := range []struct {
		hardening func() (harden.Status, error)
		f         func(ctx context.Context) error
		want      error
	}{
		{func() (harden.Status, error) { return harden.Status{}, wrong }, func(context.Context) error { panic("it runs") }, wrong},
		{hard, func(context.Context) error { return wrong }, wrong},
		{hard, func(context.Context) error { return nil }, nil},
		{hard, func(context.Context) error { return fmt.Errorf("ended: %w", context.Canceled) }, nil},
		{hard, func(ctx context.Context) error {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}, nil},
	} {
		if err := p.UntilStopped(test.hardening, test.f); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%v, want %v", err, test.want)
		}
	}
	if p.status.UID != 9 {
		t.Errorf("its state is %+v", p.status)
	}
}

// Inherited memory is mapped by its name, and errors contain it.
func TestInheritedMemoryIsMappedByItsName(t *testing.T) {
	f, err := shm.Shared("page", 4096)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Setenv(inherit.Variable, fmt.Sprintf("page=%d", fd))
	in, err := inherit.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	size := func(mem []byte) (int, error) { return len(mem), nil }
	if n, err := Mapped(in, "page", true, size); n != 4096 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := Mapped(in, "other", true, size); !errors.Is(err, inherit.ErrMissing) {
		t.Errorf("a missing descriptor: %v", err)
	}
	wrong := errors.New("wrong")
	if _, err := Mapped(in, "page", false, func([]byte) (int, error) { return 0, wrong }); !errors.Is(err, wrong) || !strings.Contains(err.Error(), `shared memory "page"`) {
		t.Errorf("an unreadable segment: %v", err)
	}
}
