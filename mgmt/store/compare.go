package store

import (
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// largeFarm is the number of records above which a farm is large: its records are stored in
// chunks, and their changes as edits.
const largeFarm = 1024

// isLarge reports whether a farm is stored in chunks.
func isLarge(f *farm.Farm) bool { return f.Records() > largeFarm }

// zonesOf returns the zones of a farm, nil if it has no such settings.
func zonesOf(f *farm.Farm) []farm.Zone {
	if f.Zones() == nil {
		return nil
	}
	return f.Zones().Zones
}

// bare returns a farm whose zones have no records.
func bare(f *farm.Farm) farm.Farm {
	zones := slices.Clone(zonesOf(f))
	for i := range zones {
		zones[i].SetRecords(nil)
	}
	return f.WithZones(zones)
}

// comparison holds the differing farms of two successive configurations. It is computed once
// per commit because it walks the records of changed zones.
type comparison struct {
	old, new *farm.Config
	at       []int32 // position in old of each farm that shares its settings, else -1
	changed  []farmStep
}

// farmStep describes a farm that does not share its settings with the previous configuration.
type farmStep struct {
	at, was int        // positions in the new and the old list; was is -1 for a new farm
	equal   bool       // equal in spite of that
	zones   []zoneStep // of the new farm, if both are large
}

// zoneStep describes one zone of the new farm.
type zoneStep struct {
	was  int // position of the zone in the old farm, -1 for a new zone
	runs []farm.RecordRun
}

// compare compares two configurations. Farms must have unique IDs.
func compare(old, new *farm.Config) *comparison {
	c := &comparison{old: old, new: new, at: farm.Align(old.Farms, new.Farms)}
	var positions map[uint32]int
	for i, at := range c.at {
		if at >= 0 {
			continue
		}
		id, was := new.Farms[i].ID, -1
		if i < len(old.Farms) && old.Farms[i].ID == id {
			was = i
		} else {
			if positions == nil {
				positions = make(map[uint32]int, len(old.Farms))
				for k := range old.Farms {
					positions[old.Farms[k].ID] = k
				}
			}
			if k, is := positions[id]; is {
				was = k
			}
		}
		step := farmStep{at: i, was: was}
		if was >= 0 {
			step.follow(&old.Farms[was], &new.Farms[i])
		}
		c.changed = append(c.changed, step)
	}
	return c
}

// follow compares a farm with its previous state.
func (s *farmStep) follow(was, now *farm.Farm) {
	if !isLarge(was) || !isLarge(now) {
		s.equal = reflect.DeepEqual(was, now)
		return
	}
	before, after := zonesOf(was), zonesOf(now)
	s.equal = len(before) == len(after)
	taken := make([]bool, len(before))
	s.zones = make([]zoneStep, len(after))
	for i := range after {
		k := zoneBefore(before, &after[i], i)
		if k >= 0 && taken[k] {
			k = -1
		}
		s.zones[i].was = k
		if k < 0 {
			s.equal = false
			continue
		}
		taken[k] = true
		runs := farm.AlignZones(&before[k], &after[i])
		s.zones[i].runs = runs
		n := after[i].Len()
		same := n == before[k].Len() && (n == 0 || len(runs) == 1 && runs[0].Length == n)
		s.equal = s.equal && same && k == i
	}
	s.equal = s.equal && reflect.DeepEqual(bare(was), bare(now))
}

// zoneBefore returns the position of a zone in the old farm, -1 if it is new. Most zones keep
// their position.
func zoneBefore(before []farm.Zone, z *farm.Zone, at int) int {
	same := func(k int) bool {
		return before[k].ID == z.ID && (z.ID != 0 || before[k].Name == z.Name)
	}
	if at < len(before) && same(at) {
		return at
	}
	for k := range before {
		if same(k) {
			return k
		}
	}
	return -1
}

// keepRecords reports whether all records of large farms are unchanged.
func (c *comparison) keepRecords() bool {
	for i := range c.changed {
		step := &c.changed[i]
		for z, zone := range step.zones {
			if zone.was != z {
				return false
			}
			n := zonesOf(&c.new.Farms[step.at])[z].Len()
			if n != zonesOf(&c.old.Farms[step.was])[z].Len() || n > 0 && (len(zone.runs) != 1 || zone.runs[0].Length != n) {
				return false
			}
		}
	}
	return true
}
