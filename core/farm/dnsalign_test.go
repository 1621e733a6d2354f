package farm_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
)

// Records in a run are equal, and runs follow the order of both lists. Every unchanged
// record is in a run.
func TestRecordsOfTwoListsAreAligned(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var old, now []farm.Record
		for i := range random.IntN(60) {
			old = append(old, farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
		}
		kept := 0
		for _, r := range old {
			switch random.IntN(8) {
			case 0:
				continue
			case 1:
				r.Data = "192.0.2.2"
			default:
				kept++
			}
			now = append(now, r)
		}
		for i := range random.IntN(3) {
			now = append(now, farm.Record{ID: uint32(random.IntN(2) * (len(old) + i + 1)), Name: "new", Type: "A", Data: "192.0.2.3"})
		}
		i, j, found := 0, 0, 0
		for _, run := range farm.AlignRecords(old, now) {
			if run.Old < i || run.New < j || run.Length == 0 {
				t.Fatalf("run %v begins before %d and %d", run, i, j)
			}
			for n := range run.Length {
				if old[run.Old+n] != now[run.New+n] {
					t.Fatalf("run %v: %v is not %v", run, old[run.Old+n], now[run.New+n])
				}
			}
			i, j, found = run.Old+run.Length, run.New+run.Length, found+run.Length
		}
		if found != kept {
			t.Fatalf("%d of %d records are in a run", found, kept)
		}
	}
}

// If one record is inserted or removed anywhere, the lists differ only in that record,
// even if IDs do not increase.
func TestOneRecordLessIsAlignedWithoutNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		long := make([]farm.Record, 1+random.IntN(9))
		for i := range long {
			long[i] = farm.Record{ID: uint32(random.IntN(3)), Name: fmt.Sprint(random.IntN(3)), Type: "A"}
		}
		at := random.IntN(len(long))
		short := slices.Delete(slices.Clone(long), at, at+1)
		for _, lists := range [][2][]farm.Record{{long, short}, {short, long}, {long, long}} {
			found := 0
			for _, run := range farm.AlignRecords(lists[0], lists[1]) {
				found += run.Length
			}
			if want := min(len(lists[0]), len(lists[1])); found != want {
				t.Fatalf("%d of %d records are in a run of %v", found, want, lists)
			}
		}
	}
}

// A comparison of large zones does not unpack all of their records at a time.
func TestZonesAreAlignedInParts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	old := packedZone(manyRecords(random, 40*farm.PackedRun))
	list := slices.Clone(old.Unpacked())
	for i := range list {
		list[i].Comment = "changed"
	}
	list[3], list[len(list)/2] = old.At(3), old.At(len(list)/2)
	now := packedZone(list)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runs := farm.AlignZones(old, now)
	runtime.ReadMemStats(&after)
	if whole, took := uint64(len(list))*uint64(unsafe.Sizeof(list[0])), after.TotalAlloc-before.TotalAlloc; took > whole/4 {
		t.Errorf("%d bytes are allocated, and a list has %d", took, whole)
	}
	if want := farm.AlignRecords(old.Unpacked(), list); !slices.Equal(runs, want) || len(runs) != 2 {
		t.Errorf("the runs are %v, want %v", runs, want)
	}
}
