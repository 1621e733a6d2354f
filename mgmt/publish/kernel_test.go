package publish_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// kernel is a Kernel that accepts all farms unless its fields say otherwise.
type kernel struct {
	mu    sync.Mutex
	state ctl.KernelState
	given []*farm.Config
	// problems are returned with each state; away is the error of every call.
	problems map[uint32]string
	away     error
	asked    int    // number of calls of KernelState
	behind   uint64 // subtracted from the generation in replies
	// reader has the snapshot read last; whole counts those with all farms.
	reader snapshot.Reader
	whole  int
	// applied blocks KernelApply after the farms are installed.
	applied chan struct{}
	// hangs and hangsAsked make KernelApply and KernelState block until their context ends.
	hangs, hangsAsked bool
}

func (k *kernel) KernelApply(ctx context.Context, file *os.File) (ctl.KernelState, error) {
	k.mu.Lock()
	hangs := k.hangs
	k.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctl.KernelState{}, ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	generation, cfg, err := k.read(file)
	if err != nil {
		return ctl.KernelState{}, err
	}
	if k.away != nil {
		return ctl.KernelState{}, k.away
	}
	k.given = append(k.given, cfg)
	k.state = ctl.KernelState{Generation: generation - k.behind, Problems: k.problems}
	if wait := k.applied; wait != nil {
		k.mu.Unlock()
		<-wait
		k.mu.Lock()
	}
	return k.state, nil
}

// read reads a snapshot as netd does.
func (k *kernel) read(file *os.File) (uint64, *farm.Config, error) {
	if _, _, err := snapshot.Load(file); err == nil {
		k.whole++
	}
	generation, cfg, err := k.reader.Load(file)
	if err != nil {
		err = &ctl.Error{Code: ctl.CodeInvalid, Text: err.Error()}
	}
	return generation, cfg, err
}

func (k *kernel) KernelCheck(_ context.Context, file *os.File) (ctl.KernelState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, _, err := k.read(file); err != nil {
		return ctl.KernelState{}, err
	}
	return ctl.KernelState{Problems: k.problems}, k.away
}

func (k *kernel) KernelState(ctx context.Context) (ctl.KernelState, error) {
	k.mu.Lock()
	k.asked++
	hangs := k.hangsAsked
	k.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if hangs {
		return ctl.KernelState{}, ctx.Err()
	}
	return k.state, k.away
}

func (k *kernel) set(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

func (k *kernel) lives() []*farm.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]*farm.Config(nil), k.given...)
}

// mixed returns a configuration with one engine farm and one kernel farm.
func mixed(name string) *farm.Config {
	l := farm.DefaultL4()
	l.ID, l.NAT, l.Ports = 9, farm.NATTarget, []farm.PortRange{{First: 80, Last: 80}}
	l.Backends = []farm.Backend{{ID: 5, Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}}
	cfg := config("127.0.0.1:8081")
	cfg.Farms = append(cfg.Farms, farm.Farm{ID: 99, Name: name, Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.1"), L4: l})
	return cfg
}

// withKernel starts a bench with a kernel and an engine.
func withKernel(t *testing.T, cfg *farm.Config) (*bench, *kernel, *engine) {
	t.Helper()
	k := &kernel{}
	b := newBench(t, cfg, func(o *publish.Options) { o.Kernel = k })
	e := b.start(t, newEngine())
	return b, k, e
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so that %s", what)
		}
	}
}

func TestKernelGetsItsFarmsOnlyAndOnlyWhenTheyChange(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	if got := k.lives()[0]; len(got.Farms) != 1 || got.Farms[0].ID != 99 || len(got.Certificates) != 0 {
		t.Errorf("the kernel got %+v", got)
	}
	cfg := mixed("web")
	cfg.Farms = append(cfg.Farms, config("127.0.0.1:8082").Farms...)
	cfg.Farms[2].ID, cfg.Farms[2].Name, cfg.Farms[2].HTTP = 3, "other", farm.DefaultHTTP()
	if _, err := b.Publish(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	if n := len(k.lives()); n != 1 {
		t.Errorf("an unrelated edit reached the kernel: %d publications", n)
	}
	if _, err := b.Publish(context.Background(), mixed("renamed")); err != nil {
		t.Fatal(err)
	}
	if n := len(k.lives()); n != 2 {
		t.Errorf("%d publications to the kernel, want 2", n)
	}
	if _, err := b.Publish(context.Background(), config("127.0.0.1:8081")); err != nil {
		t.Fatal(err)
	}
	if list := k.lives(); len(list) != 3 || len(list[2].Farms) != 0 {
		t.Errorf("the last farm is gone: %+v", list)
	}
}

func TestProblemsOfTheKernelAreProblemsOfFarms(t *testing.T) {
	b, k, e := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	k.set(func() { k.problems = map[uint32]string{99: "not permitted"} })
	out, err := b.Publish(context.Background(), mixed("a"))
	if err != nil || !strings.Contains(out.FarmErrors[99], "not permitted") || len(out.FarmErrors) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	k.set(func() { k.away = errors.New("no such process") })
	if out, err = b.Publish(context.Background(), mixed("b")); err != nil || !strings.Contains(out.FarmErrors[99], "no such process") || len(out.FarmErrors) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if n := len(e.lives()); n < 3 {
		t.Errorf("the engine got %d configurations, want all", n)
	}
	told := len(k.lives())
	k.set(func() { k.away, k.problems, k.state = nil, nil, ctl.KernelState{} }) // a new netd without state
	if out, err := b.Publish(context.Background(), mixed("b")); err != nil || len(out.FarmErrors) != 0 || len(k.lives()) == told {
		t.Errorf("after netd returned: %+v, %v", out, err)
	}
}

func TestARejectionOfTheEngineIsFollowedByTheOldFarmsOfTheKernel(t *testing.T) {
	b, k, e := withKernel(t, mixed("old"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	e.mu.Lock()
	e.refuse = "no"
	e.mu.Unlock()
	if _, err := b.Publish(context.Background(), mixed("new")); err == nil {
		t.Fatal("published")
	}
	e.mu.Lock()
	e.refuse = ""
	e.mu.Unlock()
	if _, err := b.Publish(context.Background(), mixed("old")); err != nil { // as mgmt/apply does
		t.Fatal(err)
	}
	if list := k.lives(); list[len(list)-1].Farms[0].Name != "old" {
		t.Errorf("the kernel has %s, want %s", list[len(list)-1].Farms[0].Name, "old")
	}
}

func TestNewNetdGetsTheConfiguration(t *testing.T) {
	_, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	k.set(func() { k.state = ctl.KernelState{} }) // netd was restarted
	until(t, "the kernel was told again", func() bool { return len(k.lives()) == 2 })
	k.set(func() { k.problems = map[uint32]string{99: "no address"} })
	k.set(func() { k.state.Problems = k.problems }) // a farm failed since then
	until(t, "a new problem is published", func() bool { return len(k.lives()) == 3 })
}

func TestANewProblemOfTheKernelShowsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time advances only while all goroutines wait
		_, k, _ := withKernel(t, mixed("web"))
		until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
		for i, problems := range []map[uint32]string{{99: "no address"}, nil} {
			at := time.Now()
			k.set(func() { k.problems, k.state.Problems = problems, problems })
			until(t, "it is published", func() bool { return len(k.lives()) == 2+i })
			if took := time.Since(at); took > time.Second/2 {
				t.Errorf("published after %v", took)
			}
		}
	})
}

func TestCheckReachesNeitherKernelNorEngine(t *testing.T) {
	b, k, e := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	engines := len(e.lives())
	k.set(func() { k.problems = map[uint32]string{99: "its address is taken"} })
	no := errors.New("not so")
	err := b.Check(context.Background(), mixed("changed"), func(out apply.Outcome) error {
		if !strings.Contains(out.FarmErrors[99], "taken") {
			t.Errorf("problems beforehand: %+v", out)
		}
		return no
	})
	if !errors.Is(err, no) || len(k.lives()) != 1 || len(e.lives()) != engines {
		t.Errorf("%v; %d publications to the kernel, %d to the engine", err, len(k.lives()), len(e.lives()))
	}
	if err := b.Check(context.Background(), mixed("web"), func(apply.Outcome) error { return no }); err != nil {
		t.Errorf("without a change of kernel farms: %v", err)
	}
	k.set(func() { k.away = errors.New("no such process") })
	if err := b.Check(context.Background(), mixed("changed"), func(apply.Outcome) error { return no }); err != nil {
		t.Errorf("a check that cannot be made: %v", err)
	}
}

func TestTheKernelGetsNoBackendWithoutAnAddress(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	cfg := mixed("web")
	for i := range cfg.Farms {
		if l := cfg.Farms[i].L4; l != nil {
			l.Backends = append(l.Backends, farm.Backend{ID: 900, Host: "pool.example", Resolve: farm.ResolveAll}, farm.Backend{ID: 901, Of: 900, Host: "pool.example", Addr: netip.MustParseAddr("127.0.0.77"), Port: 81})
		}
	}
	if _, err := b.Publish(context.Background(), cfg.Usable()); err != nil {
		t.Fatal(err)
	}
	list := k.lives()
	backends := list[len(list)-1].Farms[0].L4.Backends
	if last := backends[len(backends)-1]; last.ID != 901 || backends[len(backends)-2].ID == 900 {
		t.Errorf("the kernel got %+v", backends)
	}
}

// A kernel farm whose only problem is a missing local address is reported as absent.
func TestAFarmOfTheKernelWithoutItsAddressIsAbsent(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	cfg := mixed("changed")
	cfg.Farms[1].VIP = netip.MustParseAddr("192.0.2.77")
	_, missing := addr.Find(nil, cfg.Farms[1].VIP)
	for problem, want := range map[string]bool{missing.Error(): true, "the kernel has no room": false} {
		k.set(func() { k.problems = map[uint32]string{99: problem} })
		if err := b.Check(t.Context(), cfg, func(out apply.Outcome) error {
			if out.FarmErrors[99] != problem || out.Absent[99] != want {
				t.Errorf("%s: beforehand %+v", problem, out)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	k.set(func() { k.problems = map[uint32]string{99: missing.Error()} })
	if out, err := b.Publish(t.Context(), cfg); err != nil || !out.Absent[99] || out.FarmErrors[99] != missing.Error() {
		t.Errorf("%+v, %v", out, err)
	}
}

// netd changes its state before mgmt gets the response.
func TestASlowChangeOfRulesIsPublishedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, k, _ := withKernel(t, mixed("web"))
		until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
		wait := make(chan struct{})
		k.set(func() { k.applied = wait })
		time.AfterFunc(2*time.Second, func() {
			k.set(func() { k.applied = nil })
			close(wait)
		})
		if _, err := b.Publish(t.Context(), mixed("changed")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if n := len(k.lives()); n != 2 {
			t.Errorf("%d publications to the kernel, want 2", n)
		}
	})
}

// After the first snapshot netd gets differences, which amount to the whole configuration.
func TestNetdGetsTheDifferences(t *testing.T) {
	b, k, _ := withKernel(t, mixed("web"))
	until(t, "the kernel was told", func() bool { return len(k.lives()) == 1 })
	r := rand.New(rand.NewPCG(1, 2))
	cfg, restarts := mixed("web"), 0
	for i := range 100 {
		cfg = &farm.Config{Farms: slices.Clone(cfg.Farms)}
		switch at := 1 + r.IntN(len(cfg.Farms)); {
		case at == len(cfg.Farms):
			f := mixed("added").Farms[1]
			f.ID, f.Name, f.VIP = uint32(100+i), fmt.Sprint("added", i), netip.AddrFrom4([4]byte{192, 0, 2, byte(2 + i)})
			f.L4.ID, f.L4.Backends[0].ID = uint32(100+i), uint32(100+i)
			cfg.Farms = append(cfg.Farms, f)
		case r.IntN(4) == 0:
			cfg.Farms = slices.Delete(cfg.Farms, at, at+1)
		default:
			f := cfg.Farms[at].Clone()
			f.L4.Backends[0].Weight = uint8(1 + i%9)
			f.Stopped = r.IntN(3) == 0
			cfg.Farms[at] = f
		}
		if r.IntN(10) == 0 {
			restarts++
			k.set(func() { k.reader = snapshot.Reader{} })
		}
		if r.IntN(2) == 0 {
			if err := b.Check(t.Context(), cfg, func(apply.Outcome) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(5) == 0 {
			continue // refused after the check
		}
		if _, err := b.Publish(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		all := k.lives()
		if got, want := all[len(all)-1].Farms, cfg.Farms[1:]; len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("change %d: netd has %+v, want %+v", i, got, want)
		}
	}
	// A configuration without farms is a whole one, and so is the one after it.
	k.set(func() {
		if k.whole > 1+restarts+10 {
			t.Errorf("%d whole snapshots after %d restarts of netd", k.whole, restarts)
		}
		if restarts == 0 || k.whole < 1+restarts/2 {
			t.Errorf("%d restarts, %d whole snapshots", restarts, k.whole)
		}
	})
}
