package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/sysnet/nft"
)

func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

func TestWhatTheSupervisorPassesOnIsRead(t *testing.T) {
	for text, want := range map[string]time.Duration{"3s": 3 * time.Second, "": supervisor.DefaultGrace, "soon": supervisor.DefaultGrace} {
		t.Setenv(supervisor.GraceVariable, text)
		if got := grace(); got != want {
			t.Errorf("grace %q is %v", text, got)
		}
	}
	own := uint32(os.Geteuid())
	for text, want := range map[string]uint32{"7": 7, "4294967295": 1<<32 - 1, "4294967296": own, "-1": own, "": own, "root": own} {
		t.Setenv(supervisor.ManagerVariable, text)
		if got := uidFrom(supervisor.ManagerVariable); got != want {
			t.Errorf("user %q is %d", text, got)
		}
	}
	for text, want := range map[string][]uint32{"7": {7}, "0": {0}, "": nil, "-1": nil, "root": nil} {
		t.Setenv(supervisor.UserVariable, text)
		if got := localUsers(); !slices.Equal(got, want) {
			t.Errorf("user %q: %v act as root on the local socket", text, got)
		}
	}
	for text, want := range map[string]int{"1": 1, "64": 64, "": min(runtime.NumCPU(), stats.MaxShards), "0": 0, "65": 0, "-1": 0, "two": 0} {
		t.Setenv(LoopsVariable, text)
		if got, err := loopCount(); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d loops, %v", text, got, err)
		}
	}
}

// Each counter of a loop is in the memory with its name.
func TestLoopsCountWhereTheirCountersAre(t *testing.T) {
	var memory stats.Loop
	counters := reflect.ValueOf(loopCounters(&memory)).Elem()
	if n := reflect.TypeFor[loop.Counters]().NumField(); counters.NumField() != n {
		t.Fatalf("%d counters, want %d", counters.NumField(), n)
	}
	for i := range counters.NumField() {
		name := counters.Type().Field(i).Name
		if got, want := counters.Field(i).Interface().(*uint64), reflect.ValueOf(&memory).Elem().FieldByName(name).Addr().Interface().(*uint64); got != want {
			t.Errorf("%s is counted elsewhere", name)
		}
	}
}

// A role ends if it fails to drop its privileges. A role stopped by a signal has not failed.
func TestARoleRunsHardenedUntilItIsStopped(t *testing.T) {
	wrong := errors.New("wrong")
	p := &process{}
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
		if err := p.untilStopped(test.hardening, test.f); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%v, want %v", err, test.want)
		}
	}
	if p.status.UID != 9 {
		t.Errorf("its state is %+v", p.status)
	}
}

func TestLastClientsAreAnnouncedByASignal(t *testing.T) {
	last := lastClients(t.Context())
	select {
	case <-last:
		t.Fatal("the stacks appear without a signal")
	default:
	}
	if err := syscall.Kill(os.Getpid(), supervisor.LastClients); err != nil {
		t.Fatal(err)
	}
	select {
	case <-last:
	case <-time.After(10 * time.Second):
		t.Error("the signal has no effect")
	}
}

// Unusable data ends an instance at its start, and later only the current mgmt process. A
// lock held by another process does not end it.
func TestDataThatCannotBeUsedEndsTheFirstStart(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		first     string
		err, want error
	}{{"1", broken, errFinal}, {"", broken, broken}, {"1", fmt.Errorf("here: %w", store.ErrLocked), store.ErrLocked}} {
		t.Setenv(supervisor.FirstVariable, test.first)
		if err := unusable(test.err); !errors.Is(err, test.want) || errors.Is(err, errFinal) != (test.want == errFinal) {
			t.Errorf("first start %q: %v becomes %v", test.first, test.err, err)
		}
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
	if n, err := mapped(in, "page", true, size); n != 4096 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := mapped(in, "other", true, size); !errors.Is(err, inherit.ErrMissing) {
		t.Errorf("a missing descriptor: %v", err)
	}
	wrong := errors.New("wrong")
	if _, err := mapped(in, "page", false, func([]byte) (int, error) { return 0, wrong }); !errors.Is(err, wrong) || !strings.Contains(err.Error(), `shared memory "page"`) {
		t.Errorf("an unreadable segment: %v", err)
	}
}

// nf_tables is used despite any error except its absence from the kernel.
func TestFarmsAreCarriedByNFTablesUnlessTheKernelHasNone(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // the kernel is not queried
	_, missing := nft.Find()
	if got, is := packetFilter(ended).(*nftables.Filter); is != (missing == nil) {
		t.Errorf("the way is %T, %v", got, missing)
	}
}

func TestAChangeOfSessionsNobodyKnowsIsAnError(t *testing.T) {
	if n, err := (&engine{}).ChangeSessions(link.SessionChange{Act: 99}); n != 0 || err == nil {
		t.Errorf("%d changed, %v", n, err)
	}
}
