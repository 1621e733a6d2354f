package stats_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/stats/statstest"
)

func TestCountersFillWholeCacheLines(t *testing.T) {
	for name, size := range map[string]struct{ is, want uintptr }{ // multiples of 64 that divide the page
		"Loop": {unsafe.Sizeof(stats.Loop{}), 512}, "Farm": {unsafe.Sizeof(stats.Farm{}), 512}, "Backend": {unsafe.Sizeof(stats.Backend{}), 256},
		"Rejections": {unsafe.Sizeof(stats.Rejections{}), 256}, "Times": {unsafe.Sizeof(stats.Times{}), 512},
	} {
		if size.is != size.want {
			t.Errorf("%s has %d bytes, want %d", name, size.is, size.want)
		}
	}
	s := statstest.New(t, 1)
	for _, p := range []unsafe.Pointer{
		unsafe.Pointer(s.Shard(3).Loop()), unsafe.Pointer(s.Shard(5).Farm(77)), unsafe.Pointer(s.Shard(63).Backend(12345)),
		unsafe.Pointer(s.Shard(1).Rejections(3)), unsafe.Pointer(s.Shard(2).FarmTimes(9)), unsafe.Pointer(s.Shard(63).BackendTimes(54321)),
	} {
		if uintptr(p)%64 != 0 {
			t.Errorf("counters at %p are not aligned to a cache line", p)
		}
	}
}

func TestEveryCounterHasItsOwnMemory(t *testing.T) {
	_, mem := statstest.Memory(t)
	s, err := stats.CreateSegment(mem, 1)
	if err != nil {
		t.Fatal(err)
	}
	start, seen := uintptr(unsafe.Pointer(&mem[0])), map[uintptr]bool{}
	claim := func(p unsafe.Pointer, size uintptr) {
		at := uintptr(p) - start
		if seen[at] || at < 4096 || at+size > uintptr(len(mem)) {
			t.Errorf("counters at %d of %d, seen %v", at, len(mem), seen[at])
		}
		seen[at] = true
	}
	for i := range stats.MaxShards {
		sh := s.Shard(i)
		claim(unsafe.Pointer(sh.Loop()), unsafe.Sizeof(stats.Loop{}))
		for _, id := range []uint32{0, 1, farm.MaxFarmID} {
			claim(unsafe.Pointer(sh.Farm(id)), unsafe.Sizeof(stats.Farm{}))
			claim(unsafe.Pointer(sh.Rejections(id)), unsafe.Sizeof(stats.Rejections{}))
			claim(unsafe.Pointer(sh.FarmTimes(id)), unsafe.Sizeof(stats.Times{}))
		}
		for _, id := range []uint32{0, 1, farm.MaxBackendID} {
			claim(unsafe.Pointer(sh.Backend(id)), unsafe.Sizeof(stats.Backend{}))
			claim(unsafe.Pointer(sh.BackendTimes(id)), unsafe.Sizeof(stats.Times{}))
		}
	}
	s.SumFarm(1<<32 - 1) // any ID stays inside
	s.SumBackend(1<<32 - 1)
}

func TestCreatingASegmentCostsNoRealMemory(t *testing.T) {
	f, mem := statstest.Memory(t)
	if got := used(t, f); got != 0 {
		t.Fatalf("%d bytes before anything", got)
	}
	if _, err := stats.CreateSegment(mem, stats.MaxShards); err != nil {
		t.Fatal(err)
	}
	if got := used(t, f); got != page {
		t.Errorf("%d bytes of %d are real, want the header's page", got, stats.SegmentSize)
	}
}

func TestSumTouchesOnlyThePagesOfLiveShards(t *testing.T) {
	f, mem := statstest.Memory(t)
	s, err := stats.CreateSegment(mem, 3)
	if err != nil {
		t.Fatal(err)
	}
	before := used(t, f)
	s.SumFarm(7)
	if got := used(t, f) - before; got > 3*page {
		t.Errorf("SumFarm over 3 loops touched %d bytes", got)
	}
	before = used(t, f)
	s.SumBackend(7)
	if got := used(t, f) - before; got > 3*page {
		t.Errorf("SumBackend over 3 loops touched %d bytes", got)
	}
	before = used(t, f)
	for id := range uint32(8) { // same page as 7
		s.SumFarm(id)
		s.SumBackend(id)
	}
	if got := used(t, f) - before; got != 0 {
		t.Errorf("neighbours touched %d bytes more", got)
	}
}

func TestReaderInAnotherMappingSeesTheCounters(t *testing.T) {
	f, mem := statstest.Memory(t)
	ro, err := shm.ReadOnly(f)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	m, err := shm.MapShared(ro, false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := stats.OpenSegment(m.Bytes()); !errors.Is(err, stats.ErrSegment) {
		t.Errorf("before creation: got %v", err)
	}
	w, err := stats.CreateSegment(mem, 2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stats.OpenSegment(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := *(*[2]uint64)(unsafe.Pointer(&mem[0])); got != [2]uint64{0x534c55434f554e54, 3} { // constants known to other releases
		t.Errorf("it begins with %#x", got)
	}
	w.Shard(1).Farm(5).Requests++
	if got := r.SumFarm(5).Requests; got != 1 || r.Loops() != 2 {
		t.Errorf("the reader sees %d requests, %d loops", got, r.Loops())
	}
}

func TestOpenRefusesForeignMemory(t *testing.T) {
	_, mem := statstest.Memory(t)
	if _, err := stats.CreateSegment(mem[:stats.SegmentSize-64], 1); !errors.Is(err, stats.ErrSegment) {
		t.Errorf("short: got %v", err)
	}
	if _, err := stats.OpenSegment(nil); !errors.Is(err, stats.ErrSegment) {
		t.Errorf("nil: got %v", err)
	}
	for _, loops := range []int{-1, 0, stats.MaxShards + 1} {
		if _, err := stats.CreateSegment(mem, loops); !errors.Is(err, stats.ErrLoops) {
			t.Errorf("%d loops: got %v", loops, err)
		}
	}
	if _, err := stats.CreateSegment(mem, 1); err != nil {
		t.Fatal(err)
	}
	mem[8] = 200 // the layout
	if _, err := stats.OpenSegment(mem); !errors.Is(err, stats.ErrSegment) {
		t.Errorf("other layout: got %v", err)
	}
	mem[8], mem[0] = 2, 'x'
	if _, err := stats.CreateSegment(mem, 1); !errors.Is(err, stats.ErrSegment) {
		t.Errorf("junk: got %v", err)
	}
}

const page = 4096

// used returns the memory taken by a memfd.
func used(t *testing.T, f *os.File) int64 {
	t.Helper()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Blocks * 512
}
