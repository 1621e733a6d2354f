package kernel_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// told is a filter that records the last input of Carry.
type told struct {
	kernel.Unable // the other methods
	mu            sync.Mutex
	last          rules.Input
	times         int
	fails         error
}

// flushed records the backends whose connections were ended.
type flushed struct {
	none
	mu  sync.Mutex
	ids map[uint32]bool
}

func (f *flushed) Flush(_ context.Context, meant func(uint32) bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = map[uint32]bool{}
	for id := range uint32(100) {
		if meant(id) {
			f.ids[id] = true
		}
	}
	return nil
}

// took returns the backends recorded since its last call.
func (f *flushed) took() map[uint32]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := f.ids
	f.ids = nil
	return ids
}

func (f *told) Carry(_ context.Context, in *rules.Input) (map[uint32]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.times = *in, f.times+1
	return nil, f.fails
}

func (f *told) now() (in rules.Input, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.times
}

// following returns a reconciler that runs until the test ends.
func following(t *testing.T, f kernel.Filter) *kernel.Reconciler {
	t.Helper()
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

func TestDeletedFarmIsReleasedAfterItsGrace(t *testing.T) {
	f := &told{}
	k := following(t, f)
	apply := func(farms ...farm.Farm) { k.Apply(context.Background(), 1, &farm.Config{Farms: farms}) }
	one := l4test.Example(func(f *farm.Farm) { f.L4.StopGrace = 1 })
	apply(one)
	one.Stopped = true
	apply(one)
	apply()
	if in, _ := f.now(); !in.Hold {
		t.Fatal("connections of the farm do not continue")
	}
	l4test.Eventually(t, "nothing of the farm is in the kernel", func() bool { in, _ := f.now(); return !in.Hold })
}

func TestRulesFollowTheHealthTableAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, err := health.OpenTable(make([]byte, health.TableSize))
		if err != nil {
			t.Fatal(err)
		}
		f := &told{}
		k := kernel.New(kernel.Options{Filter: f, Health: table, Connections: none{}, Log: l4test.Quiet})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		one := l4test.Example(func(*farm.Farm) {})
		k.Apply(ctx, 1, &farm.Config{Farms: []farm.Farm{one}})
		go k.Run(ctx)
		id := one.L4.Backends[0].ID
		for i := range 9 { // at different times between two full checks
			time.Sleep(time.Second + time.Duration(i)*10*time.Millisecond)
			for _, state := range []health.State{health.Down, health.Up} {
				_, before := f.now()
				table.SetGuardian(id, state, time.Now())
				time.Sleep(21 * time.Millisecond)
				synctest.Wait()
				if _, times := f.now(); times != before+1 {
					t.Errorf("%d: a backend became %v, and rules were made %d times", i, state, times-before)
				}
			}
		}
	})
}

func TestTransparentFarmSetupIsRetried(t *testing.T) {
	t.Cleanup(kernel.SetRetryPause(10 * time.Millisecond)) // restored after the reconciler has ended
	f := &told{fails: errors.New("somebody else is changing rules")}
	k := following(t, f)
	one := l4test.Example(func(f *farm.Farm) {
		f.L4.NAT, f.L4.Protocol, f.L4.DataPath, f.L4.Persist = farm.NATTarget, farm.L4TCP, farm.DataPathUserspace, farm.L4PersistNone
	})
	if !one.Transparent() {
		t.Fatal("the example is not transparent")
	}
	k.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{one}})
	l4test.Eventually(t, "it is tried again", func() bool { _, times := f.now(); return times > 1 })
}

func TestGraceStartsAtTheLastStopAndEndsWithACut(t *testing.T) {
	t.Parallel()
	conns := &flushed{}
	k := kernel.New(kernel.Options{Filter: &told{}, Connections: conns, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.StopGrace = 1 })
	id := one.L4.Backends[0].ID
	apply := func(stopped bool) {
		one = one.Clone()
		one.Stopped = stopped
		k.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{one}})
	}
	apply(false)
	apply(true)
	apply(false)
	one.L4.StopGrace = 60
	conns.took()
	apply(true)
	k.Age(1100 * time.Millisecond) // the first grace would be over
	k.Follow(context.Background())
	if took := conns.took(); took[id] {
		t.Error("the grace of an earlier stop ended the connections")
	}
	one.L4.Backends[0].Maintenance = farm.MaintenanceCut
	apply(true)
	if took := conns.took(); !took[id] {
		t.Error("the connections of a cut backend continue")
	}
}

// Grace periods survive a restart of netd.
func TestGraceSurvivesARestartOfNetd(t *testing.T) {
	conns := &flushed{}
	k := kernel.New(kernel.Options{Filter: &told{}, Connections: conns, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.StopGrace, f.Stopped, f.L4.Backends = 1, true, f.L4.Backends[:1] })
	k.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{one}})
	if took := conns.took(); took[one.L4.Backends[0].ID] || !took[99] {
		t.Errorf("ended: %v", took)
	}
	k.Age(1100 * time.Millisecond)
	k.Follow(context.Background())
	if took := conns.took(); !took[one.L4.Backends[0].ID] {
		t.Error("the grace never ends")
	}
}

// slow is a filter whose Carry waits until it is released.
type slow struct {
	told
	begun, let chan struct{}
}

func (f *slow) Carry(ctx context.Context, in *rules.Input) (map[uint32]string, error) {
	f.begun <- struct{}{}
	<-f.let
	return f.told.Carry(ctx, in)
}

// State queries do not wait for a change, which takes seconds with thousands of farms.
// Otherwise netd would fill up with abandoned queries.
func TestStateDoesNotWaitForAChange(t *testing.T) {
	f := &slow{begun: make(chan struct{}, 1), let: make(chan struct{}, 1)}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	one := l4test.Example(nil)
	apply := func(generation uint64) {
		k.Apply(context.Background(), generation, &farm.Config{Farms: []farm.Farm{one}})
	}
	f.let <- struct{}{}
	apply(1)
	<-f.begun
	done := make(chan struct{})
	go func() { defer close(done); apply(2) }()
	<-f.begun
	generation := func() uint64 {
		answer := make(chan uint64, 1)
		go func() {
			state, err := k.Parts()[ctl.OpKernelState](context.Background(), []byte("{}"), nil)
			if err != nil {
				t.Error(err)
			}
			answer <- state.(ctl.KernelState).Generation
		}()
		select {
		case g := <-answer:
			return g
		case <-time.After(2 * time.Second):
			return 0
		}
	}
	if g := generation(); g != 1 {
		t.Errorf("while it is changed: generation %d, want 1", g)
	}
	f.let <- struct{}{}
	<-done
	if g := generation(); g != 2 {
		t.Errorf("afterwards: generation %d, want 2", g)
	}
}

// relay records its calls.
type relay struct {
	farms    []farm.Farm
	problems map[uint32]string
	wire     rules.Wire
}

func (r *relay) Follow(farms []farm.Farm, problems map[uint32]string, wire rules.Wire) {
	r.farms, r.problems, r.wire = farms, problems, wire
}

// neighbours implements Neighbours with known next hops.
type neighbours map[netip.Addr]neigh.NextHop

func (n neighbours) Want([]netip.Addr)                      {}
func (n neighbours) Changed() <-chan struct{}               { return nil }
func (n neighbours) NextHops() map[netip.Addr]neigh.NextHop { return n }

func TestRelayFollowsCarriedFarmsAndNextHops(t *testing.T) {
	addr, mac := netip.MustParseAddr("10.0.0.1"), neigh.MAC{2, 0, 0, 0, 0, 1}
	f, r := &told{}, &relay{}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Relay: r, Log: l4test.Quiet,
		Neighbours: neighbours{addr: {Addr: addr, MAC: mac}, addr.Next(): {Addr: addr.Next(), MAC: mac}}})
	one := l4test.Example(func(f *farm.Farm) { f.L4.NAT = farm.NATDirect })
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{one}})
	if len(r.farms) != 1 || len(r.problems) != 0 || r.wire == nil {
		t.Fatalf("got %v, %v and %v", r.farms, r.problems, r.wire)
	}
	if hop, ok := r.wire.NextHop(addr); !ok || hop.MAC != mac {
		t.Errorf("the backend is at %v", hop)
	}
	f.fails = errors.New("no right")
	k.Apply(t.Context(), 2, &farm.Config{Farms: []farm.Farm{one}})
	if r.problems[one.ID] == "" {
		t.Error("the problem of the farm was not passed on")
	}
	k.Apply(t.Context(), 3, &farm.Config{Farms: []farm.Farm{l4test.Example(nil)}})
	if r.wire != nil {
		t.Error("without farms of packet modes there is a wire")
	}
}

// fails returns an nft that fails with this message.
func fails(t *testing.T, says string) *nft.Runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nft")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return nft.At(path)
}

func TestMissingPermissionIsReportedPerFarm(t *testing.T) {
	k := kernel.New(kernel.Options{
		Filter:      nftables.New(fails(t, "Error: Operation not permitted (you must be root)"), l4test.Quiet),
		Connections: none{}, Log: l4test.Quiet,
	})
	problems := k.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{l4test.Example(nil), l4test.Example(func(f *farm.Farm) { f.ID, f.Stopped = 8, true })}})
	if len(problems) != 1 || !strings.Contains(problems[7], "not permitted") {
		t.Errorf("problems: %v", problems)
	}
	u := kernel.New(kernel.Options{Filter: kernel.Unable{Reason: nft.ErrMissing}, Connections: none{}, Log: l4test.Quiet})
	if problems := u.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{l4test.Example(nil)}}); !strings.Contains(problems[7], "not installed") {
		t.Errorf("problems: %v", problems)
	}
}

// none is an empty implementation of Connections.
type none struct{}

func (none) Count(context.Context) (map[uint32]conntrack.Counts, error) { return nil, nil }

func (none) CountOnly(context.Context, map[uint32]bool) (map[uint32]conntrack.Counts, error) {
	return nil, nil
}
func (none) Flush(context.Context, func(uint32) bool) error    { return nil }
func (none) FlushUDP(context.Context, func(uint32) bool) error { return nil }
