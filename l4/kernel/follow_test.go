package kernel_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// observed is a filter that records its other calls, with a given number of connections.
type observed struct {
	told
	gone       bool // the rules were removed
	doubts     int
	filled     int
	full, held map[uint32]bool
	room       map[uint32]bool
	notes      []uint32       // backends noted as full
	asked      []uint32       // backends whose connections were counted
	open       map[uint32]int // by backend
	uncounted  error
	counting   func() // called while connections are counted
	resets     uint64
	doubted    bool              // since the last Carry
	refused    map[uint32]string // result of Carry
}

func (f *observed) Intact(context.Context) bool { return !f.gone }
func (f *observed) Doubt()                      { f.doubts, f.doubted = f.doubts+1, true }
func (f *observed) Resets() uint64              { return f.resets }

func (f *observed) Carry(ctx context.Context, in *rules.Input) (map[uint32]string, error) {
	if f.gone || f.doubted {
		f.resets, f.doubted = f.resets+1, false
	}
	_, err := f.told.Carry(ctx, in)
	return f.refused, err
}

func (f *observed) Noted(context.Context) (map[uint32]time.Time, error) {
	out := map[uint32]time.Time{}
	for _, id := range f.notes {
		out[id] = time.Now()
	}
	return out, nil
}

func (f *observed) Fill(_ context.Context, c rules.Counted) error {
	f.filled, f.full, f.room, f.held = f.filled+1, c.Full, c.Room, c.Held
	return errors.New("which stops nobody")
}

func (f *observed) CountOnly(ctx context.Context, backends map[uint32]bool) (map[uint32]conntrack.Counts, error) {
	f.asked = slices.Sorted(maps.Keys(backends))
	if f.counting != nil {
		f.counting()
	}
	return f.Count(ctx)
}

func (f *observed) Count(context.Context) (map[uint32]conntrack.Counts, error) {
	out := map[uint32]conntrack.Counts{}
	for id, n := range f.open {
		out[0x5c000000+id] = conntrack.Counts{Total: n + 5, Established: n, Closed: 5}
	}
	return out, f.uncounted
}

func (f *observed) Flush(context.Context, func(uint32) bool) error    { return nil }
func (f *observed) FlushUDP(context.Context, func(uint32) bool) error { return nil }

// carried returns the number of Carry calls.
func (f *observed) carried() int { _, n := f.now(); return n }

func TestKernelFollowsOnlyChanges(t *testing.T) {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	f, g := &observed{}, &ground{}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Health: table, Ground: g, Log: l4test.Quiet})
	web, _ := two(true)
	k.Follow(t.Context())
	if f.carried() != 0 {
		t.Error("Carry was called before the first configuration")
	}
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web}})
	k.Follow(t.Context())
	want := f.carried()
	step := func(what string, more int) {
		t.Helper()
		k.Follow(t.Context())
		if want += more; f.carried() != want {
			t.Errorf("%s: carried %d times more than before, want %d", what, f.carried()-want+more, more)
			want = f.carried()
		}
	}
	step("nothing changed", 0)
	table.SetGuardian(1, health.Down, time.Now())
	step("a backend is down", 1)
	if in, _ := f.now(); in.Usable(1) || !in.Usable(2) {
		t.Error("the filter has the wrong usable backends")
	}
	step("it still is", 0)
	f.gone = true
	k.Age(50 * time.Millisecond)
	step("the rules were looked for lately", 0)
	k.Age(2 * time.Second)
	step("the rules are gone", 1)
	step("they were made anew", 0)
	f.gone, f.fails = false, errors.New("somebody else is changing rules")
	table.SetGuardian(1, health.Up, time.Now())
	step("the backend is back, which cannot be carried", 1)
	k.Age(3 * time.Second)
	step("it failed a moment ago", 0)
	if state(t, k).Problems[web.ID] == "" {
		t.Error("the failure is not reported")
	}
	f.fails = nil
	k.Age(3 * time.Second)
	step("it is tried again", 1)
	if p := state(t, k).Problems; len(p) != 0 {
		t.Errorf("problems that are over: %v", p)
	}
	k.Age(time.Hour)
	step("it works", 0)
	g.problems = map[uint32]string{web.ID: "no such address"}
	k.Apply(t.Context(), 2, &farm.Config{Farms: []farm.Farm{web}})
	want, g.problems = f.carried(), nil
	step("the ground was not ready a moment ago", 0)
	k.Age(time.Second)
	step("the ground is asked again", 1)
	if p := state(t, k).Problems; len(p) != 0 {
		t.Errorf("the ground is ready, problems: %v", p)
	}
	k.Age(time.Hour)
	step("the ground is ready", 0)
}

func TestWeightsOfLeastConnFollowTheShareOfConnections(t *testing.T) {
	f := &observed{open: map[uint32]int{1: 3, 2: 1}}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: l4test.Quiet})
	web, other := two(false)
	idle := l4test.Example(func(f *farm.Farm) { f.ID, f.L4.ID, f.L4.Algorithm, f.Stopped = 9, 14, farm.L4LeastConn, true })
	web.L4.Algorithm = farm.L4LeastConn
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web, other, idle}})
	weights := func(want map[uint32]int) {
		t.Helper()
		k.Follow(t.Context())
		if in, _ := f.now(); !maps.Equal(in.Weights, want) {
			t.Errorf("weights: %v, want %v", in.Weights, want)
		}
	}
	first := map[uint32]int{1: 3, 2: 8} // 10 − 10·¾ and 10 − 10·¼, rounded
	weights(first)
	f.open = map[uint32]int{1: 9}
	k.Age(2 * time.Second)
	weights(first)
	times := f.carried()
	f.uncounted = errors.New("not permitted")
	k.Age(2 * time.Second)
	weights(first)
	f.uncounted = nil
	weights(map[uint32]int{1: 1, 2: 10})
	if n := f.carried(); n != times+1 {
		t.Errorf("carried %d times for one change", n-times)
	}
	f.open = nil
	k.Age(time.Hour)
	weights(map[uint32]int{1: 10, 2: 10})
	times = f.carried()
	k.Age(time.Hour)
	if weights(map[uint32]int{1: 10, 2: 10}); f.carried() != times {
		t.Error("weights that are the same are carried again")
	}
}

// Backends noted as full are counted, and notes of backends with room are removed. Rules
// count only connections that began after them.
func TestNotedBackendsAreCounted(t *testing.T) {
	f := &observed{}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit = 2, 3 })
	apply := func() { k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{one}}) }
	set := func(ids ...uint32) map[uint32]bool {
		out := map[uint32]bool{}
		for _, id := range ids {
			out[id] = true
		}
		return out
	}
	look := func(what string, open map[uint32]int, asked []uint32, full, room, held map[uint32]bool) {
		t.Helper()
		before := f.filled
		f.open, f.asked = open, nil
		k.Follow(t.Context())
		if !slices.Equal(f.asked, asked) || (f.filled > before) != (asked != nil) {
			t.Fatalf("%s: queries for %v, want %v; filled %d times", what, f.asked, asked, f.filled-before)
		}
		if asked != nil && (!maps.Equal(f.full, full) || !maps.Equal(f.room, room) || !maps.Equal(f.held, held)) {
			t.Errorf("%s: full %v, room %v, held %v; want %v, %v, %v", what, f.full, f.room, f.held, full, room, held)
		}
	}
	apply()
	look("nobody is noted", map[uint32]int{1: 2, 2: 3}, nil, nil, nil, nil)
	f.notes = []uint32{1}
	look("it was looked a moment ago", map[uint32]int{1: 2, 2: 2}, nil, nil, nil, nil)
	k.Age(100 * time.Millisecond)
	look("one is full", map[uint32]int{1: 2, 2: 2}, []uint32{1}, set(1), set(), set())
	f.notes = []uint32{1, 2}
	k.Age(100 * time.Millisecond)
	look("one has room", map[uint32]int{1: 1, 2: 3}, []uint32{1, 2}, set(2), set(1), set())
	f.notes = nil
	k.Age(time.Second)
	look("nobody is noted any more", map[uint32]int{1: 2, 2: 3}, nil, nil, nil, nil)
	// A new limit has not counted the open connections.
	one = one.Clone()
	one.L4.Backends[0].ConnLimit = 1
	f.filled, f.open = 0, map[uint32]int{1: 2, 2: 3}
	apply()
	if f.filled != 1 || !maps.Equal(f.full, set(1)) || !maps.Equal(f.held, set(1)) {
		t.Errorf("a limit that became less: filled %d times: %v, held %v", f.filled, f.full, f.held)
	}
	k.Age(100 * time.Millisecond)
	look("it is held until there is none", map[uint32]int{1: 1, 2: 3}, []uint32{1}, set(1), set(), set(1))
	k.Age(100 * time.Millisecond)
	look("there was none for a moment", map[uint32]int{2: 3}, []uint32{1}, set(), set(1), set())
	f.notes = []uint32{1}
	k.Age(100 * time.Millisecond)
	look("the next were counted", map[uint32]int{1: 1, 2: 3}, []uint32{1}, set(1), set(), set())
	f.notes, f.gone = nil, true // new rules have counted nothing
	k.Age(3 * time.Second)
	k.Follow(t.Context())
	if !maps.Equal(f.held, set(1, 2)) {
		t.Errorf("with the new rules: held %v", f.held)
	}
	f.gone = false
	k.Age(time.Second)
	look("after the rules were gone", map[uint32]int{1: 1, 2: 2}, []uint32{1, 2}, set(1), set(2), set(1))
	one = l4test.Stopped(one.Clone())
	apply()
	f.notes = []uint32{1}
	k.Age(time.Second)
	look("it is stopped", map[uint32]int{1: 1, 2: 3}, []uint32{1}, set(), set(1), set())
	k.Age(time.Second)
	look("it still is", map[uint32]int{1: 1, 2: 3}, nil, nil, nil, nil)
}

// Counting very many connections takes a bounded share of the CPU. Time in which the
// process waits does not delay the next round.
func TestCountingIsThrottledByItsCPUTime(t *testing.T) {
	burn := func() {
		spent := func() time.Duration {
			var r syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &r); err != nil {
				t.Fatal(err)
			}
			return time.Duration(syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime))
		}
		for begin := spent(); spent() < begin+50*time.Millisecond; {
		}
	}
	for name, c := range map[string]struct {
		counting func()
		again    bool
	}{
		"it waits": {func() { time.Sleep(50 * time.Millisecond) }, true},
		"it works": {burn, false},
	} {
		f := &observed{notes: []uint32{1}, open: map[uint32]int{1: 2}}
		k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: l4test.Quiet})
		k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Backends[0].ConnLimit = 2 })}})
		f.counting = c.counting
		k.Age(100 * time.Millisecond)
		begin := time.Now()
		k.Follow(t.Context())
		if f.asked == nil {
			t.Fatalf("%s: not counted at all", name)
		}
		f.asked, f.counting = nil, nil
		k.Age(100*time.Millisecond - time.Since(begin))
		k.Follow(t.Context())
		if again := f.asked != nil; again != c.again {
			t.Errorf("%s: counted again after 0.1 s: %v, want %v", name, again, c.again)
		}
	}
}

// Connections cut while their backend was down may not continue until it is up again.
func TestCutsOfDownBackendsLast(t *testing.T) {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	f := &observed{}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Health: table, Log: l4test.Quiet})
	web, _ := two(true)
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web}})
	cut := func(what string, want map[uint32]bool) {
		t.Helper()
		if in, _ := f.now(); !maps.Equal(in.Cut, want) {
			t.Errorf("%s: cut are %v, want %v", what, in.Cut, want)
		}
	}
	table.SetGuardian(1, health.Down, time.Now())
	k.Follow(t.Context())
	cut("one is down", map[uint32]bool{})
	k.Flushing(t.Context(), func(id uint32) bool { return id <= 2 })
	cut("both are cut, and one is up", map[uint32]bool{1: true})
	table.SetGuardian(2, health.Down, time.Now())
	k.Follow(t.Context())
	cut("the other is down later", map[uint32]bool{1: true})
	table.SetGuardian(1, health.Up, time.Now())
	k.Follow(t.Context())
	cut("it is up again", map[uint32]bool{})
}

// unflushed implements Connections and cannot end any.
type unflushed struct {
	none
	why error
}

func (u unflushed) Flush(context.Context, func(uint32) bool) error { return u.why }

func TestRepeatedProblemIsLoggedOnce(t *testing.T) {
	var log logtest.Log
	f := &observed{}
	f.fails = errors.New("somebody else is changing rules")
	k := kernel.New(kernel.Options{Filter: f, Connections: unflushed{why: errors.New("no memory")}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	web := l4test.Example(nil)
	for range 3 {
		k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web}})
	}
	if lines := log.Lines("farm is not carried by the kernel"); len(lines) != 1 || !strings.Contains(lines[0], `farm=web reason="somebody else`) {
		t.Errorf("of a farm that is not carried: %q", lines)
	}
	if lines := log.Lines("connections of what was stopped may go on"); len(lines) != 1 { // the first time, without a previous state
		t.Errorf("log of continuing connections: %q", lines)
	}
	k = kernel.New(kernel.Options{Filter: f, Connections: unflushed{why: &os.SyscallError{Syscall: "socket", Err: fs.ErrPermission}}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web}})
	if lines := log.Lines("connections of what was stopped may go on"); len(lines) != 1 {
		t.Errorf("where none could begin: %q", lines)
	}
	if got := state(t, k).Problems; !reflect.DeepEqual(got, map[uint32]string{web.ID: "somebody else is changing rules"}) {
		t.Errorf("problems: %v", got)
	}
}
