package gslbfarm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// checkRecords checks the rules of records, single and combined. For example, a CNAME must
// be alone at its name (RFC 1034 §3.6.2), and a service provides all addresses of a name.
func checkRecords(f *farm.Farm, z *farm.Zone, path string, yield func(field.Error) bool) bool {
	if n := z.Len(); n > MaxRecords {
		return yield(field.Error{Path: path, Field: "resources", Message: fmt.Sprintf("resources: at most %d are possible in a zone, got %d", MaxRecords, n)})
	}
	return CheckRecords(f, z, func(i int, err field.Error) bool {
		r := z.At(i)
		err.Path = RecordPath(f.Name, z.Name, recordNumber(&r, i))
		return yield(err)
	})
}

// CheckRecords checks the records of a zone and yields each violation with its position.
func CheckRecords(f *farm.Farm, z *farm.Zone, yield func(position int, err field.Error) bool) bool {
	return checkSome(f, z, redirectedNames(z), yield)
}

// checkSome is CheckRecords for some records of a zone with these redirected names. It must
// get all records of a name.
func checkSome(f *farm.Farm, z *farm.Zone, above redirected, yield func(position int, err field.Error) bool) bool {
	at := map[string]atName{} // of names that several records may have
	several := repeatedNames(z)
	r := new(farm.Record)
	for i, one := range z.All() {
		*r = one
		key, err := checkRecord(f, z, r)
		if err == nil {
			err = above.check(z, r)
		}
		if err == nil {
			repeated := several.has(key)
			var n atName
			if repeated {
				n = at[key]
			}
			if err = n.beside(r, key == "@"); err == nil {
				n.add(r)
				n.size += uint32(len(r.Data) + len(r.Name) + len(z.Name) + recordHead)
			}
			if n.size > maxSet && !n.told && setSize(z, r) > maxSet {
				n.told = true
				err = &field.Error{Path: "", Field: "rdata", Message: fmt.Sprintf("rdata: the records %s %s are more than %d bytes together, which no answer has room for; spread them over several names", r.Name, r.Type, maxSet)}
			}
			if repeated {
				at[key] = n
			}
		}
		if err != nil && !yield(i, *err) {
			return false
		}
	}
	return true
}

// atName is the state of a name while records are checked.
type atName struct {
	kinds uint8
	told  bool
	size  uint32            // upper bound of its records' size, as text
	types []farm.RecordType // of its record sets except the first
	first farm.RecordType
}

// add adds a record of the name.
func (n *atName) add(r *farm.Record) {
	n.kinds |= kindOf(r)
	switch {
	case n.first == "":
		n.first = r.Type
	case n.first != r.Type && !slices.Contains(n.types, r.Type):
		n.types = append(n.types, r.Type)
	}
}

// beside explains why a record conflicts with others of its name. atApex means that this is
// the name of the zone.
func (n *atName) beside(r *farm.Record, atApex bool) *field.Error {
	if len(n.types) >= maxTypes-1 && n.first != r.Type && !slices.Contains(n.types, r.Type) {
		return &field.Error{Path: "", Field: "type", Message: fmt.Sprintf("type: a name may have records of at most %d types, and %s has that many; spread them over several names", maxTypes, r.Name)}
	}
	return beside(r, atApex, n.kinds)
}

const (
	// maxSet bounds the size of a record set. It must fit into a message of 64 KiB with the
	// overhead of transfers and signatures.
	maxSet = 60_000
	// maxTypes bounds the types of a name, as a denial of existence lists them.
	maxTypes   = 64
	recordHead = 12
)

// setSize returns the size of the record set of r in a transfer.
func setSize(z *farm.Zone, r *farm.Record) (size uint32) {
	name := ownerKey(z, r.Name)
	for _, o := range z.MayBeNamed(r.Name) {
		if o.Type != r.Type || ownerKey(z, o.Name) != name {
			continue
		}
		data, _ := rdata.Pack(o.Type, o.Data, z.Name)
		size += uint32(len(data) + len(o.Name) + len(z.Name) + recordHead)
	}
	return size
}

// CheckRecordsAlone is CheckRecords for a zone without a farm. All services count as
// existing.
func CheckRecordsAlone(z *farm.Zone, yield func(position int, err field.Error) bool) bool {
	f := farm.Farm{Profile: farm.ProfileGSLB, Global: farm.DefaultGSLB()}
	told := map[int]bool{} // a remaining ALIAS violates the rules of types, too
	MakeAliases(f.Global, z, func(i int, err field.Error) bool {
		told[i] = true
		return yield(i, err)
	})
	for i := range z.Records {
		if r := &z.Records[i]; r.Type == farm.RecordDYNA && f.Global.Service(r.Data) == nil {
			f.Global.Services = append(f.Global.Services, farm.DNSService{Name: r.Data})
		}
	}
	return CheckRecords(&f, z, func(i int, err field.Error) bool { return told[i] || yield(i, err) })
}

func recordNumber(r *farm.Record, position int) int {
	if r.ID != 0 {
		return int(r.ID) - 1
	}
	return position
}

// Kinds of records at a name.
const (
	holdsCNAME = 1 << iota
	holdsAddress
	holdsService
	holdsOther
	holdsDNAME
	holdsServer // NS records
)

func kindOf(r *farm.Record) uint8 {
	switch r.Type {
	case "CNAME":
		return holdsCNAME
	case "A", "AAAA":
		return holdsAddress
	case farm.RecordDYNA:
		return holdsService
	case "DNAME":
		return holdsDNAME
	case "NS":
		return holdsServer
	}
	return holdsOther
}

// beside explains why a record conflicts with the existing kinds of its name.
func beside(r *farm.Record, atApex bool, has uint8) *field.Error {
	kind := kindOf(r)
	switch {
	case kind == holdsCNAME && has != 0, has&holdsCNAME != 0:
		return &field.Error{Path: "", Field: "type", Message: fmt.Sprintf("type CNAME must be alone at its name, and %s has other records; remove these, or write the addresses", r.Name)}
	case kind == holdsDNAME && has&holdsDNAME != 0:
		return &field.Error{Path: "", Field: "type", Message: fmt.Sprintf("type DNAME is possible once at a name, and %s has one already", r.Name)}
	case !atApex && (kind == holdsDNAME && has&holdsServer != 0 || kind == holdsServer && has&holdsDNAME != 0):
		return &field.Error{Path: "", Field: "type", Message: fmt.Sprintf("type DNAME cannot be beside NS at %s: the name is either redirected or delegated", r.Name)}
	case kind == holdsService && has&(holdsAddress|holdsService) != 0, has&holdsService != 0 && kind == holdsAddress:
		return &field.Error{Path: "", Field: "type", Message: fmt.Sprintf("type DYNA gives all addresses of its name, and %s has others; remove these, or add them to the service", r.Name)}
	}
	return nil
}

// CheckRecord checks the rules of one record.
func CheckRecord(f *farm.Farm, z *farm.Zone, r *farm.Record) *field.Error {
	_, err := checkRecord(f, z, r)
	return err
}

// checkRecord is CheckRecord. It also returns the ownerKey of the record.
func checkRecord(f *farm.Farm, z *farm.Zone, r *farm.Record) (key string, err *field.Error) {
	for err := range verified(&RecordDocument, r) {
		return "", &err
	}
	owner, bad := rdata.Owner(r.Name, z.Name)
	switch {
	case errors.Is(bad, rdata.ErrOutside):
		return "", &field.Error{Path: "", Field: "rname", Message: fmt.Sprintf("rname: %s is not in the zone %s; "+
			"only names without a dot at their end are relative to the zone", field.Show(r.Name), z.Name)}
	case bad != nil:
		return "", &field.Error{Path: "", Field: "rname", Message: fmt.Sprintf("rname: %s is too long: with the zone %s it has more than %d characters",
			field.Show(r.Name), z.Name, maxZoneName)}
	}
	key = strings.ToLower(owner)
	if r.Type == farm.RecordDYNA {
		if f.Global.Service(r.Data) == nil {
			return key, &field.Error{Path: "", Field: "rdata", Message: fmt.Sprintf("rdata: there is no service %s in the farm %s; create it first",
				field.Show(r.Data), f.Name)}
		}
		return key, nil
	}
	return key, checkData(z, r, key)
}

// checkData checks the rules of a record's type and data at the name with that ownerKey.
func checkData(z *farm.Zone, r *farm.Record, name string) *field.Error {
	if r.Type == "SOA" && name != "@" {
		return &field.Error{Path: "", Field: "rname", Message: fmt.Sprintf("rname must be @ for SOA, got %s", field.Show(r.Name))}
	}
	if r.Type == "CNAME" && name == "@" {
		return &field.Error{Path: "", Field: "type", Message: "type CNAME is not possible for @, which has the zone's own records"}
	}
	if r.Type == "DS" && name == "@" {
		return &field.Error{Path: "", Field: "type", Message: "type DS is not possible for @: the DS records of a zone belong to the zone above it"}
	}
	if r.Type == "NS" && (name == "*" || strings.HasPrefix(name, "*.")) {
		return &field.Error{Path: "", Field: "type", Message: fmt.Sprintf("type NS is not possible for the wildcard %s: delegate each name by itself", r.Name)}
	}
	if _, err := rdata.Check(r.Type, r.Data, z.Name); err != nil {
		why := ""
		if errors.Is(err, rdata.ErrComment) || errors.Is(err, rdata.ErrParenthesis) || errors.Is(err, rdata.ErrUnsound) {
			why = ": " + err.Error()
		}
		return &field.Error{Path: "", Field: "rdata", Message: fmt.Sprintf("rdata must be %s for %s, got %s%s", rdata.Shape(r.Type), r.Type, field.Show(r.Data), why)}
	}
	return nil
}
