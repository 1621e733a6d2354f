package stats_test

import (
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/stats/statstest"
)

// fill sets every named field of a counter struct to a distinct value.
func fill(v reflect.Value, from uint64) {
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.CanSet() {
			continue
		}
		if field.Kind() == reflect.Array {
			for j := range field.Len() {
				field.Index(j).SetUint(from)
				from++
			}
			continue
		}
		field.SetUint(from)
		from++
	}
}

func TestSumsAddEveryFieldOverAllLoops(t *testing.T) {
	s := statstest.New(t, 3)
	var wantFarm stats.Farm
	var wantBackend stats.Backend
	for i := range 3 {
		fill(reflect.ValueOf(s.Shard(i).Farm(9)).Elem(), 100)
		fill(reflect.ValueOf(s.Shard(i).Backend(9)).Elem(), 1000)
	}
	fill(reflect.ValueOf(&wantFarm).Elem(), 100)
	fill(reflect.ValueOf(&wantBackend).Elem(), 1000)
	triple(reflect.ValueOf(&wantFarm).Elem())
	triple(reflect.ValueOf(&wantBackend).Elem())
	s.Shard(0).Farm(8).Requests, s.Shard(0).Backend(10).Requests = 5, 5 // neighbours
	if got := s.SumFarm(9); got != wantFarm {
		t.Errorf("farm: got %+v, want %+v", got, wantFarm)
	}
	if got := s.SumBackend(9); got != wantBackend {
		t.Errorf("backend: got %+v, want %+v", got, wantBackend)
	}
}

func triple(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.CanSet() {
			continue
		}
		if field.Kind() == reflect.Array {
			for j := range field.Len() {
				field.Index(j).SetUint(3 * field.Index(j).Uint())
			}
			continue
		}
		field.SetUint(3 * field.Uint())
	}
}

func TestGaugesAreSummedSignedAndNeverNegative(t *testing.T) {
	s := statstest.New(t, 2)
	a, b := s.Shard(0), s.Shard(1)
	a.Farm(1).Established, b.Farm(1).Established = 5, ^uint64(0)-1 // 5 and -2
	a.Farm(1).Pending = ^uint64(0)                                 // -1
	a.Backend(1).Established, b.Backend(1).Established = ^uint64(0), 4
	b.Backend(1).Pending = ^uint64(6)
	if f := s.SumFarm(1); f.Established != 3 || f.Pending != 0 {
		t.Errorf("farm: established %d, pending %d", f.Established, f.Pending)
	}
	if b := s.SumBackend(1); b.Established != 3 || b.Pending != 0 {
		t.Errorf("backend: established %d, pending %d", b.Established, b.Pending)
	}
}

func TestSumLoopsReturnsEachLoop(t *testing.T) {
	s := statstest.New(t, 2)
	s.Shard(1).Loop().Events = 20
	s.Shard(2).Loop().Events = 30 // no such loop
	var whole stats.Loop
	fill(reflect.ValueOf(&whole).Elem(), 50)
	*s.Shard(0).Loop() = whole
	got := s.SumLoops()
	if len(got) != 2 || got[0] != whole || got[1].Events != 20 {
		t.Errorf("got %+v", got)
	}
}

func TestSumsOfTimesAndRejectionsAreOverAllLoops(t *testing.T) {
	s := statstest.New(t, 3)
	for i := range 3 {
		sh := s.Shard(i)
		sh.FarmTimes(9).FirstByte.Observe(1_000_000)
		sh.BackendTimes(9).Total.Observe(2_000_000)
		sh.Rejections(9)[4] += 2
	}
	s.Shard(0).FarmTimes(8).Total.Observe(1) // neighbours
	s.Shard(0).Rejections(10)[4]++
	if f := s.SumFarmTimes(9); f.FirstByte.Count() != 3 || f.FirstByte.Nanos != 3_000_000 || f.Total.Count() != 0 {
		t.Errorf("farm: %+v", f)
	}
	if b := s.SumBackendTimes(9); b.Total.Count() != 3 || b.Total.Nanos != 6_000_000 || b.FirstByte.Count() != 0 {
		t.Errorf("backend: %+v", b)
	}
	if r := s.SumRejections(9); r != (stats.Rejections{4: 6}) {
		t.Errorf("rejections: %v", r)
	}
	s.AdoptFarm(9, 1)
	s.AdoptBackend(9, 1)
	if f, b, r := s.SumFarmTimes(9), s.SumBackendTimes(9), s.SumRejections(9); f != (stats.Times{}) || b != (stats.Times{}) || r != (stats.Rejections{}) {
		t.Errorf("another owner inherits %+v, %+v, %v", f, b, r)
	}
}

func TestAdoptZeroesAllShardsOnlyForAnotherOwner(t *testing.T) {
	s := statstest.New(t, 2)
	s.AdoptFarm(3, 70)
	s.AdoptBackend(3, 80)
	for i := range 2 {
		s.Shard(i).Farm(3).Requests, s.Shard(i).Farm(3).Established = 10, 1
		s.Shard(i).Backend(3).Requests, s.Shard(i).Backend(3).Established = 10, 1
		s.Shard(i).Farm(4).Requests, s.Shard(i).Backend(4).Requests = 1, 1
	}
	s.AdoptFarm(3, 70)
	s.AdoptBackend(3, 80)
	if f, b := s.SumFarm(3), s.SumBackend(3); f.Requests != 20 || f.Established != 2 || b.Requests != 20 || b.Established != 2 {
		t.Errorf("the same owner lost counters: %+v, %+v", f, b)
	}
	s.AdoptFarm(3, 71)
	s.AdoptBackend(3, 81)
	if f, b := s.SumFarm(3), s.SumBackend(3); f != (stats.Farm{}) || b != (stats.Backend{}) {
		t.Errorf("another owner inherits %+v, %+v", f, b)
	}
	if f, b := s.SumFarm(4), s.SumBackend(4); f.Requests != 2 || b.Requests != 2 {
		t.Error("a neighbour was zeroed")
	}
}

func TestReplacedEngineKeepsTotalsAndDropsGauges(t *testing.T) {
	_, mem := statstest.Memory(t)
	engine := func(loops int) *stats.Segment {
		s, err := stats.CreateSegment(mem, loops)
		if err != nil {
			t.Fatal(err)
		}
		s.AdoptFarm(3, 70)
		s.AdoptBackend(3, 80)
		return s
	}
	s := engine(4)
	for i := range 4 {
		f, b := s.Shard(i).Farm(3), s.Shard(i).Backend(3)
		f.Requests, f.Established, f.Pending = 10, 3, 2
		b.Requests, b.Established, b.Pending = 10, 3, 2
		s.Shard(i).Loop().Events = 9
	}
	s = engine(2) // fewer loops: the totals of the others still count
	f, b := s.SumFarm(3), s.SumBackend(3)
	if f.Requests != 40 || b.Requests != 40 {
		t.Errorf("totals: %d and %d requests, want 40", f.Requests, b.Requests)
	}
	if f.Established+f.Pending+b.Established+b.Pending != 0 {
		t.Errorf("gauges of the dead engine: %+v, %+v", f, b)
	}
	if l := s.SumLoops(); len(l) != 2 || l[0].Events != 0 {
		t.Errorf("loops: %+v", l)
	}
}
