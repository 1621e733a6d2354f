package kernel_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
)

// told is a filter that remembers what it was last asked to carry.
type told struct {
	kernel.Filter
	mu    sync.Mutex
	last  kernel.Input
	times int
	fails error
}

func (f *told) Carry(_ context.Context, in *kernel.Input) (map[uint32]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.times = *in, f.times+1
	return nil, f.fails
}

func (f *told) now() (in kernel.Input, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.times
}

// following is a keeper that follows until the test ends.
func following(t *testing.T, f kernel.Filter) *kernel.Keeper {
	t.Helper()
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

func TestNothingIsHeldForAFarmDeletedInItsGraceOnceThatIsOver(t *testing.T) {
	f := &told{}
	k := following(t, f)
	apply := func(farms ...farm.Farm) { k.Apply(context.Background(), 1, &farm.Config{Farms: farms}) }
	one := example(func(f *farm.Farm) { f.L4.StopGrace = 1 })
	apply(one)
	one.Stopped = true
	apply(one)
	apply()
	if in, _ := f.now(); !in.Hold {
		t.Fatal("connections of the farm do not go on")
	}
	eventually(t, "nothing of the farm is in the kernel", func() bool { in, _ := f.now(); return !in.Hold })
}

func TestWhatTransparentFarmsNeedIsTriedAgain(t *testing.T) {
	t.Cleanup(kernel.SetRetryPause(10 * time.Millisecond)) // undone when the keeper has ended
	f := &told{fails: errors.New("somebody else is changing rules")}
	k := following(t, f)
	one := example(func(f *farm.Farm) {
		f.L4.NAT, f.L4.Protocol, f.L4.DataPath, f.L4.Persist = farm.NATTarget, farm.L4TCP, farm.DataPathUserspace, farm.L4PersistNone
	})
	if !one.Transparent() {
		t.Fatal("the example is not transparent")
	}
	k.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{one}})
	eventually(t, "it is tried again", func() bool { _, times := f.now(); return times > 1 })
}
