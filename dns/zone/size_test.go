// The answers from zones are tested in dns/server.
//
//mutate:tests ../server

package zone_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/zone"
)

// BenchmarkCompile measures time and memory for a zone of a million records.
func BenchmarkCompile(b *testing.B) {
	const records = 1_000_000
	z := farm.NewZone("example.com")
	for i := range records {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 3), Name: fmt.Sprintf("host%d", i), Type: "A", Data: fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)})
	}
	g := &farm.GSLB{Zones: []farm.Zone{z}}
	for b.Loop() {
		before := inUse()
		t, err := zone.Compile(g)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(inUse()-before)/records, "B/record")
		runtime.KeepAlive(t)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
