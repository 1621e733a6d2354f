package validate

import (
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// manyRecords is how many records a zone has of which only those that changed are checked.
const manyRecords = 1000

// withoutSound returns the farm without the records of its zones that are sure to keep the
// rules, because they are few changes away from records that did. before are the settings
// that were found to keep all rules, nil for none. The farm itself is not changed.
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

// staysSound reports whether the records of a zone are sure to keep the rules, because
// those of was do: it checks what was changed, and all records of names that have changed
// ones. Records that are gone break no rule.
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
			return false // the service is gone
		}
		if lengths[uint8(len(r.Name))] && changed[strings.ToLower(r.Name)] {
			part.Records = append(part.Records, *r)
		}
	}
	return CheckRecords(f, &part, func(int, Error) bool { return false })
}
