package gslbfarm

import (
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// WithoutSound returns the farm without the records that are certainly valid because they
// differ only slightly from valid ones. before holds the last valid settings, nil for none.
// The farm itself is not changed.
func WithoutSound(f *farm.Farm, before *farm.GSLB) *farm.Farm {
	if before == nil || f.Zones() == nil {
		return f
	}
	out := f
	for i := range f.Global.Zones {
		z := &f.Global.Zones[i]
		if !staysSound(f, z, before.Zone(z.Name)) {
			continue
		}
		if out == f {
			part := *f
			part.OwnZones()
			out = &part
		}
		out.Global.Zones[i].SetRecords(nil)
	}
	return out
}

// CheckEdited is CheckRecords for an edit of a zone whose records are valid. If few records
// change, the others are not checked.
func CheckEdited(f *farm.Farm, was, z *farm.Zone, yield func(position int, err field.Error) bool) bool {
	if staysSound(f, z, was) {
		return true
	}
	return CheckRecords(f, z, yield)
}

// staysSound reports whether the records of z are certainly valid, given that the records of
// was are valid. It checks the changed records and all records of the same names. Removing a
// record violates no rule.
func staysSound(f *farm.Farm, z, was *farm.Zone) bool {
	n := z.Len()
	if was == nil || n > MaxRecords {
		return false
	}
	changed := map[string]bool{}
	next := 0
	note := func(records []farm.Record) bool {
		for i := range records {
			r := &records[i]
			if len(changed) > n/8 {
				return false
			}
			changed[ownerKey(z, r.Name)] = true
		}
		return true
	}
	for _, run := range farm.AlignZones(was, z) {
		if !note(z.Slice(next, run.New)) {
			return false
		}
		next = run.New + run.Length
	}
	if !note(z.Slice(next, n)) {
		return false
	}
	for _, r := range z.OfType(farm.RecordDYNA) {
		if f.Global.Service(r.Data) == nil {
			return false // the service was deleted
		}
	}
	part := *z
	part.SetRecords(recordsNamed(z, changed))
	for range part.OfType("DNAME") {
		return false // it may be above unchanged names
	}
	return checkSome(f, &part, redirectedNames(z), func(int, field.Error) bool { return false })
}

// fewNames is up to how many names are looked up one by one.
const fewNames = 100

// recordsNamed returns the records of a zone that have one of some names, given by ownerKey.
func recordsNamed(z *farm.Zone, names map[string]bool) (out []farm.Record) {
	some := z.All()
	if len(names) <= fewNames {
		some = z.MayBeNamed(slices.Collect(maps.Keys(names))...)
	}
	for _, r := range some {
		if names[ownerKey(z, r.Name)] {
			out = append(out, r)
		}
	}
	return out
}
