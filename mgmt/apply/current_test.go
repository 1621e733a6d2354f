package apply_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// After CheckCurrent, the first change after a start checks only the records that it changes.
func TestFirstChangeChecksOnlyChangedRecords(t *testing.T) {
	const records = 50_000
	h := newHouse(t)
	h.must(func(cfg *farm.Config) error {
		f := namesOf("")
		f.Global.Services = nil
		z := farm.Zone{Name: "example.com"}
		for i := range records {
			z.Records = append(z.Records, farm.Record{Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
		}
		f.Global.Zones = []farm.Zone{z}
		cfg.Farms = []farm.Farm{f}
		return nil
	})
	allocations := func(h *house) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.must(func(cfg *farm.Config) error {
			cfg.Farms[0].Global.Zones[0].Append(farm.Record{Name: "new", Type: "A", Data: "192.0.2.1"})
			return nil
		})
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	unchecked := h.again()
	if n := allocations(unchecked); n < records {
		t.Fatalf("the check of %d records makes %d allocations: too few for this test", records, n)
	}
	checked := unchecked.again()
	checked.CheckCurrent()
	if n := allocations(checked); n > records/2 {
		t.Errorf("the first change makes %d allocations for %d records", n, records)
	}
}
