package gslbfarm

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// redirected holds the owners of DNAME records of a zone, in wire format. Names below them
// have no records of their own (RFC 6672 §2.4); Knot and NSD do not load a zone with such
// records.
type redirected map[string]string // to the owner as it is written

// redirectedNames returns the owners of the DNAME records of a zone.
func redirectedNames(z *farm.Zone) redirected {
	var out redirected
	for _, r := range z.OfType("DNAME") {
		if name, err := rdata.Name(r.Name, z.Name); err == nil {
			if out == nil {
				out = redirected{}
			}
			out[string(name)] = r.Name
		}
	}
	return out
}

// check explains why a record cannot be below a DNAME.
func (d redirected) check(z *farm.Zone, r *farm.Record) *field.Error {
	if len(d) == 0 {
		return nil
	}
	name, err := rdata.Name(r.Name, z.Name)
	if err != nil {
		return nil // CheckRecord reports it
	}
	for at := 0; name[at] != 0; {
		at += 1 + int(name[at])
		if owner, is := d[string(name[at:])]; is {
			return &field.Error{Path: "", Field: "rname", Message: fmt.Sprintf("rname: %s is below %s, whose DNAME redirects all names below it, so it cannot have records (RFC 6672); remove the record or the DNAME", field.Show(r.Name), owner)}
		}
	}
	return nil
}
