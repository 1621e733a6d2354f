package health_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/shm"
)

func newTable(t testing.TB) *health.Table {
	t.Helper()
	b, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var t0 = time.Unix(1_700_000_000, 0)

func at(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }

func TestStatusCombinesBothFindings(t *testing.T) {
	cases := []struct {
		passive, guardian health.State
		status            farm.Status
		usable            bool
	}{
		{health.Undefined, health.Undefined, farm.StatusUndefined, true},
		{health.Up, health.Undefined, farm.StatusUp, true},
		{health.Undefined, health.Up, farm.StatusUp, true},
		{health.Up, health.Up, farm.StatusUp, true},
		{health.Down, health.Undefined, farm.StatusDown, false},
		{health.Undefined, health.Down, farm.StatusDown, false},
		{health.Down, health.Up, farm.StatusDown, false},
		{health.Up, health.Down, farm.StatusDown, false},
		{health.Down, health.Down, farm.StatusDown, false},
		{77, health.Up, farm.StatusUp, true}, // invalid state
	}
	for _, c := range cases {
		b := newTable(t)
		b.SetPassive(9, c.passive, t0)
		b.SetGuardian(9, c.guardian, t0)
		s := b.Slot(9)
		if s.Status() != c.status || s.Usable() != c.usable || s.Missed() != (c.guardian != health.Down) {
			t.Errorf("%v and %v: got %s, usable %v, missed %v; want %s, %v", c.passive, c.guardian, s.Status(), s.Usable(), s.Missed(), c.status, c.usable)
		}
	}
}

func TestUnableIsSetByGuardianAndCountsAsUndefined(t *testing.T) {
	table := newTable(t)
	s := table.Slot(1)
	if version := table.Version(); !table.SetGuardian(1, health.Unable, t0) || table.Version() != version {
		t.Error("it is a change, and not one of usability")
	}
	if !s.Unable() || !s.Usable() || s.Guardian() != health.Undefined || s.Status() != farm.StatusUndefined || !s.Since().IsZero() {
		t.Errorf("%v %v %v %v %v", s.Unable(), s.Usable(), s.Guardian(), s.Status(), s.Since())
	}
	table.SetPassive(1, health.Unable, t0)
	if s.Passive() != health.Undefined || !s.Unable() {
		t.Error("the engine cannot set Unable")
	}
	if table.SetPassive(1, health.Down, t0); s.Unable() || s.Status() != farm.StatusDown {
		t.Error("the engine knows that it is down")
	}
	if table.SetGuardian(1, health.Down, t0); s.Unable() {
		t.Error("it is down")
	}
}

func TestSetReportsWhetherTheFindingChanged(t *testing.T) {
	b := newTable(t)
	steps := []struct {
		set  func(uint32, health.State, time.Time) bool
		to   health.State
		want bool
	}{
		{b.SetPassive, health.Undefined, false},
		{b.SetPassive, health.Down, true},
		{b.SetPassive, health.Down, false},
		{b.SetGuardian, health.Down, true},
		{b.SetPassive, health.Up, true},
		{b.SetGuardian, health.Undefined, true},
		{b.SetPassive, 99, true}, // counts as Undefined
		{b.SetPassive, health.Undefined, false},
	}
	for i, s := range steps {
		if got := s.set(1, s.to, t0); got != s.want {
			t.Errorf("step %d: got %v, want %v", i, got, s.want)
		}
	}
}

func TestVersionGrowsWithEveryUsabilityChangeOfAnySlot(t *testing.T) {
	b := newTable(t)
	last := b.Version()
	grew := func(step string, want bool) {
		t.Helper()
		if now := b.Version(); (now > last) != want || now < last {
			t.Errorf("%s: version %d → %d, want growth %v", step, last, now, want)
		}
		last = b.Version()
	}
	b.SetPassive(1, health.Up, t0)
	grew("undefined to up leaves it usable", false)
	b.SetPassive(1, health.Down, t0)
	grew("passive down", true)
	b.SetPassive(1, health.Down, t0)
	grew("down again", false)
	b.SetPassive(1, health.Undefined, t0)
	grew("passive cleared", true)
	b.SetGuardian(farm.MaxBackendID, health.Down, t0)
	grew("guardian down, last slot", true)
	b.SetGuardian(farm.MaxBackendID, health.Up, t0)
	grew("guardian up", true)
	b.SetGuardian(2, health.Down, t0)
	grew("guardian down", true)
	b.SetGuardian(2, health.Up, t0)
	grew("guardian up again", true)
	b.SetPassive(2, health.Down, t0)
	grew("passive down", true)
	b.Adopt(2, 5)
	grew("a down slot adopted", true)
	b.Adopt(2, 6)
	grew("a usable slot adopted", false)
}

func TestSinceIsWhenTheStatusTurned(t *testing.T) {
	b := newTable(t)
	s := b.Slot(4)
	if !s.Since().IsZero() {
		t.Errorf("untouched: %v", s.Since())
	}
	steps := []struct {
		set  func(uint32, health.State, time.Time) bool
		to   health.State
		want int
	}{
		{b.SetPassive, health.Up, 0},
		{b.SetGuardian, health.Up, 0}, // was up already
		{b.SetPassive, health.Down, 2},
		{b.SetGuardian, health.Down, 2}, // was down already
		{b.SetPassive, health.Up, 2},    // still down
		{b.SetGuardian, health.Up, 5},
		{b.SetGuardian, health.Undefined, 5}, // still up by the other
		{b.SetPassive, health.Undefined, 7},
	}
	for i, st := range steps {
		st.set(4, st.to, at(i))
		if !s.Since().Equal(at(st.want)) {
			t.Errorf("step %d: since %v, want %v", i, s.Since(), at(st.want))
		}
	}
}

func TestAdoptForgetsOnlyAnotherOwnersFindings(t *testing.T) {
	b := newTable(t)
	b.Adopt(3, 100)
	b.SetPassive(3, health.Down, t0)
	b.Slot(3).Failed()
	b.Adopt(3, 100)
	if b.Slot(3).Usable() {
		t.Error("the same owner's findings were forgotten")
	}
	b.Adopt(3, 101)
	if s := b.Slot(3); !s.Usable() || s.Status() != farm.StatusUndefined || !s.Since().IsZero() {
		t.Errorf("the new owner inherits %s since %v", s.Status(), s.Since())
	}
	if n := b.Slot(3).Failed(); n != 1 {
		t.Errorf("the first failure of the new owner is number %d in a row", n)
	}
	b.Eject(3, health.CauseReset, t0, time.Minute)
	version := b.Version()
	b.Adopt(3, 102)
	if b.Slot(3).Ejected() || b.Version() == version {
		t.Error("the new owner is ejected, or the version did not advance")
	}
	if e := b.Eject(3, health.CauseReset, t0, time.Minute); e.Times != 1 {
		t.Errorf("the new owner inherits ejections: this is number %d, want 1", e.Times)
	}
	if b.Slot(4).Status() != farm.StatusUndefined {
		t.Error("a neighbour was touched")
	}
}

func TestSlotsOfAllBackendsAreDistinctAndInsideTheTable(t *testing.T) {
	mem := make([]byte, health.TableSize)
	b, err := health.OpenTable(mem)
	if err != nil {
		t.Fatal(err)
	}
	start, seen := uintptr(unsafe.Pointer(&mem[0])), map[*health.Slot]bool{}
	for _, id := range []uint32{0, 1, 2, farm.MaxBackendID - 1, farm.MaxBackendID} {
		s := b.Slot(id)
		from := uintptr(unsafe.Pointer(s)) - start
		if seen[s] || from < 64 || from+unsafe.Sizeof(*s) > uintptr(len(mem)) {
			t.Errorf("slot %d at %d of %d, seen %v", id, from, len(mem), seen[s])
		}
		if from/64 != (from+unsafe.Sizeof(*s)-1)/64 {
			t.Errorf("slot %d spans two cache lines", id)
		}
		seen[s] = true
	}
	b.Slot(1 << 20).Status() // any ID stays inside
	b.Slot(1<<32 - 1).Status()
}

func TestTableIsSharedThroughMemory(t *testing.T) {
	f, err := shm.Shared("health", health.TableSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sides [2]*health.Table
	for i := range sides {
		m, err := shm.MapShared(f, true)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if sides[i], err = health.OpenTable(m.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	sides[0].SetGuardian(12, health.Down, t0)
	if s := sides[1].Slot(12); s.Usable() || sides[1].Version() != 1 {
		t.Errorf("the other process sees usable %v, version %d", s.Usable(), sides[1].Version())
	}
}

func TestOpenRefusesForeignMemory(t *testing.T) {
	junk := make([]byte, health.TableSize)
	junk[3] = 1
	older := make([]byte, health.TableSize)
	if _, err := health.OpenTable(older); err != nil {
		t.Fatal(err)
	}
	if got := *(*[2]uint64)(unsafe.Pointer(&older[0])); got != [2]uint64{0x534c4845414c5448, 4} { // magic and layout known to other releases
		t.Errorf("it begins with %#x", got)
	}
	older[8] = 200
	for name, mem := range map[string][]byte{
		"nil": nil, "short": make([]byte, health.TableSize-1), "junk": junk, "other layout": older,
		"misaligned": make([]byte, health.TableSize+8)[1:],
	} {
		if _, err := health.OpenTable(mem); !errors.Is(err, health.ErrTable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Many loops and a guardian write the same slots; a reader that derives tables by version
// ends with the correct state.
func TestReaderFollowingVersionsEndsConsistent(t *testing.T) {
	b := newTable(t)
	const slots = 4
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			set := b.SetPassive
			if w == 0 {
				set = b.SetGuardian
			}
			for i := range 2000 {
				set(uint32(1+i%slots), health.State(1+(i/slots+w)%2), at(i))
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()

	var table [slots]bool
	version := ^uint64(0)
	follow := func() {
		if v := b.Version(); v != version {
			version = v
			for i := range table {
				table[i] = b.Slot(uint32(1 + i)).Usable()
			}
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		follow()
	}
	follow()
	for i := range table {
		if table[i] != b.Slot(uint32(1+i)).Usable() {
			t.Errorf("slot %d: the table has %v", i+1, table[i])
		}
	}
}

// Only one of the loops that report the same change at once logs it.
func TestConcurrentChangeIsReportedOnce(t *testing.T) {
	b := newTable(t)
	for round := range 200 {
		var told [4]bool
		var wg sync.WaitGroup
		for i := range told {
			wg.Go(func() { told[i] = b.SetPassive(1, health.State(1+round%2), t0) })
		}
		wg.Wait()
		n := 0
		for _, yes := range told {
			if yes {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("round %d: %d notifications", round, n)
		}
	}
}

func BenchmarkUsable(b *testing.B) {
	s := newTable(b).Slot(1)
	b.ReportAllocs()
	for b.Loop() {
		if !s.Usable() {
			b.Fatal("down")
		}
	}
}

func TestLatencyBelongsToOneBackend(t *testing.T) {
	b := newTable(t)
	b.Adopt(3, 7)
	before := b.Version()
	s := b.Slot(3)
	for set, want := range map[time.Duration]time.Duration{
		0: 0, -time.Second: 0, time.Nanosecond: time.Microsecond, 1234567: 1234 * time.Microsecond,
		time.Minute: time.Minute, 3 * time.Hour: math.MaxUint32 * time.Microsecond,
	} {
		s.SetLatency(set)
		if got := s.Latency(); got != want || b.Slot(4).Latency() != 0 {
			t.Errorf("%v: %v, want %v", set, got, want)
		}
	}
	s.SetLatency(time.Second)
	b.Adopt(3, 7)
	if s.Latency() != time.Second || b.Version() != before || !s.Usable() {
		t.Errorf("%v, usable %v", s.Latency(), s.Usable())
	}
}

func TestLoadIsKeptUntilForgotten(t *testing.T) {
	b := newTable(t)
	is := func(when string, id uint32, want uint32, known bool) {
		t.Helper()
		if n, k := b.Load(id); n != want || k != known {
			t.Errorf("%s: %d, known %t", when, n, k)
		}
	}
	is("at first", 7, 0, false)
	b.Adopt(7, 7)
	version := b.Version()
	b.SetLoad(7, 0)
	is("nothing to do", 7, 0, true)
	b.SetLoad(7, math.MaxUint32)
	is("the most", 7, math.MaxUint32-1, true)
	is("another", 8, 0, false)
	b.Adopt(7, 7)
	is("the same backend", 7, math.MaxUint32-1, true)
	b.ForgetLoad(7)
	is("nobody tells", 7, 0, false)
	b.SetLoad(7, 5)
	if b.Version() != version {
		t.Error("a load is a new version")
	}
}

// Probes do not wait for the engine: their verdicts may be in a slot before the engine
// adopts it.
func TestAdoptKeepsFindingsOfMgmt(t *testing.T) {
	b := newTable(t)
	for _, owner := range []uint64{3, 4} {
		b.SetGuardian(3, health.Down, t0)
		b.Slot(3).SetLatency(time.Second)
		b.SetLoad(3, 17)
		b.Adopt(3, owner)
		s := b.Slot(3)
		if s.Usable() || s.Guardian() != health.Down || !s.Since().Equal(t0) || s.Latency() != time.Second {
			t.Errorf("owner %d: verdict %v since %v, latency %v", owner, s.Guardian(), s.Since(), s.Latency())
		}
		if n, known := b.Load(3); n != 17 || !known {
			t.Errorf("owner %d: load %d, known %t", owner, n, known)
		}
	}
}
