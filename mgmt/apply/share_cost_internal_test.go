package apply

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// A change of one farm looks at the zones of that farm, not of all.
func TestZonesOfSharedFarmsCostNothing(t *testing.T) {
	old := &farm.Config{}
	for id := range uint32(2000) {
		old.Farms = append(old.Farms, farm.Farm{ID: id + 1, Name: fmt.Sprint("farm", id), Profile: farm.ProfileGSLB,
			Global: &farm.GSLB{Zones: []farm.Zone{{Name: fmt.Sprint("zone", id), Serial: 1}}}})
	}
	cfg := old.CloneWith(func(f *farm.Farm) bool { return f.ID == 7 })
	cfg.Farms[6].Global.Zones = []farm.Zone{{Name: "other", Serial: 2}, {Name: "zone9", Serial: 3}}
	seen := 0
	looks := testing.AllocsPerRun(10, func() {
		seen = 0
		_ = eachZone(old, cfg, func(*farm.Farm, *farm.Zone, *farm.Zone, *farm.GSLB) error { seen++; return nil })
	})
	if seen != 2 || looks > 10 {
		t.Errorf("%d zones are seen with %v allocations, want 2 with few", seen, looks)
	}
	var gone map[string]uint32
	if looks = testing.AllocsPerRun(10, func() { gone = deletedZones(old, cfg) }); fmt.Sprint(gone) != "map[zone6:1]" || looks > 20 {
		t.Errorf("%v is found with %v allocations", gone, looks)
	}
	cfg.Farms[6].Global.Zones[0].Name = "zone6"
	if gone = deletedZones(old, cfg); len(gone) != 0 {
		t.Errorf("%v was not deleted", gone)
	}
	cfg.Farms[6].Global.Zones, cfg.Farms[9] = nil, farm.Farm{ID: 10, Profile: farm.ProfileGSLB, Global: &farm.GSLB{Zones: []farm.Zone{{Name: "zone6"}, {Name: "zone9"}}}}
	if gone = deletedZones(old, cfg); len(gone) != 0 {
		t.Errorf("%v moved to another farm", gone)
	}
}
