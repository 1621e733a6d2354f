//go:build !race

// The test has no shared memory, and takes half a minute with the race detector.

package publish_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// A zone with the maximum number of records that validation allows fits into a snapshot.
func TestAsManyRecordsAsAZoneMayHaveFitASnapshot(t *testing.T) {
	zone := farm.Zone{Name: "example.com", Records: make([]farm.Record, gslbfarm.MaxRecords)}
	for i := range zone.Records {
		zone.Records[i] = farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.10"}
	}
	b, err := snapshot.Encode(1, &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "names", Profile: farm.ProfileGSLB, Global: &farm.GSLB{Zones: []farm.Zone{zone}}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, cfg, err := snapshot.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Farms[0].Global.Zones[0].Unpacked(); len(got) != gslbfarm.MaxRecords || got[len(got)-1] != zone.Records[len(got)-1] {
		t.Errorf("%d records of %d came", len(got), gslbfarm.MaxRecords)
	}
}
