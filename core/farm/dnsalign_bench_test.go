package farm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// BenchmarkAlignRecords compares two lists of a million records that differ in one.
func BenchmarkAlignRecords(b *testing.B) {
	old := make([]farm.Record, 1_000_000)
	for i := range old {
		old[i] = farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: fmt.Sprint("192.0.2.", i%250)}
	}
	now := slices.Clone(old)
	now[len(now)/2].Data = "192.0.2.251"
	for b.Loop() {
		farm.AlignRecords(old, now)
	}
}
