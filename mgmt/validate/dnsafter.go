package validate

import (
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// manyRecords is the zone size from which only changed records are checked.
const manyRecords = 1000

// withoutSound returns the farm without the records that are certainly valid because they
// differ only slightly from valid ones. before holds the last valid settings, nil for none.
// The farm itself is not changed.
func withoutSound(f *farm.Farm, before *farm.GSLB) *farm.Farm {
	if before == nil || f.Zones() == nil {
		return f
	}
	out := f
	for i := range f.Global.Zones {
		z := &f.Global.Zones[i]
		if len(z.Records) < manyRecords || !staysSound(f, z, before.Zone(z.Name)) {
			continue
		}
		if out == f {
			part := *f
			part.OwnZones()
			out = &part
		}
		out.Global.Zones[i].Records = nil
	}
	return out
}

// staysSound reports whether the records of z are certainly valid, given that those of was
// are. It checks the changed records and all records of the same names. Removing a record
// violates no rule.
func staysSound(f *farm.Farm, z, was *farm.Zone) bool {
	if was == nil || len(z.Records) > MaxRecords {
		return false
	}
	changed, lengths := map[string]bool{}, [256]bool{}
	next := 0
	note := func(records []farm.Record) bool {
		for i := range records {
			r := &records[i]
			if len(changed) > len(z.Records)/8 {
				return false
			}
			name := strings.ToLower(r.Name)
			changed[name], lengths[uint8(len(name))] = true, true
		}
		return true
	}
	for _, run := range farm.AlignRecords(was.Records, z.Records) {
		if !note(z.Records[next:run.New]) {
			return false
		}
		next = run.New + run.Length
	}
	if !note(z.Records[next:]) {
		return false
	}
	part := *z
	part.Records = nil
	for i := range z.Records {
		r := &z.Records[i]
		if r.Type == farm.RecordDYNA && f.Global.Service(r.Data) == nil {
			return false // the service was deleted
		}
		if lengths[uint8(len(r.Name))] && changed[strings.ToLower(r.Name)] {
			part.Records = append(part.Records, *r)
		}
	}
	return CheckRecords(f, &part, func(int, Error) bool { return false })
}
