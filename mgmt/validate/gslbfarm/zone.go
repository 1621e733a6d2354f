package gslbfarm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Limits of zones.
const (
	// MaxZones bounds the zones of a farm, MaxRecords the records of a zone.
	MaxZones     = 10_000
	MaxRecords   = 2_000_000
	maxRecordTTL = 1<<31 - 1 // RFC 2181 §8
	maxRecord    = 64 << 10
	maxZoneName  = 253 // of a domain name as text
)

// Bodies about a zone and about a record.
var (
	ZoneCreate   = field.Table[farm.Zone]{Fields: slices.Concat([]field.Field[farm.Zone]{field.Require(field.Named(zoneName, "id"))}, zoneFields)}
	ZoneUpdate   = field.Table[farm.Zone]{Fields: zoneFields}
	ZoneDocument = field.Table[farm.Zone]{Fields: slices.Concat([]field.Field[farm.Zone]{field.Require(zoneName)},
		zoneFields)}

	RecordCreate = field.Table[farm.Record]{Fields: []field.Field[farm.Record]{field.Require(recordName),
		field.Require(askedType), recordTTL, field.Require(recordData), recordComment}}
	RecordUpdate = field.Table[farm.Record]{Fields: []field.Field[farm.Record]{recordName, askedType, recordTTL,
		recordData, recordComment}}
	RecordDocument = field.Table[farm.Record]{Fields: []field.Field[farm.Record]{field.Require(recordName),
		field.Require(recordType), recordTTL, field.Require(recordData), recordComment}}
)

// printable matches printable ASCII characters and blanks.
var printable = regexp.MustCompile(`^[ -~]*$`)

var zoneName = field.Field[farm.Zone]{
	Rule: field.Rule{Name: "name", Hints: field.Basic(field.AtAddress, "Zone"), Kind: field.Text, Format: "domain", MaxLen: maxZoneName, Check: checkZoneName, Canon: canonZone, Must: "the name of a domain, as example.com, or . for the root",
		About: "Domain of the zone, e.g. example.com; reverse zones as 2.0.192.in-addr.arpa, and . for the root."},
	Get: func(z *farm.Zone) field.Value { return field.TextValue(z.Name) },
	Set: func(z *farm.Zone, v field.Value) { z.Name = v.Text() },
}

func canonZone(s string) string {
	if s == farm.RootZone {
		return s
	}
	return strings.ToLower(strings.TrimSuffix(s, "."))
}

func checkZoneName(s string) string {
	if s == "@" || s == "0" || strings.HasPrefix(s, "*") {
		return "a zone has a name of its own"
	}
	if strings.ContainsFunc(s, notOfZones) {
		return "it has another sign than letters, digits, dots, -, _ and /"
	}
	if _, err := rdata.Name(strings.TrimSuffix(s, ".")+".", ""); err != nil {
		return rdata.ErrName.Error()
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for _, label := range labels {
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return fmt.Sprintf("the label %q begins or ends with a hyphen", label)
		}
	}
	if last := labels[len(labels)-1]; strings.ContainsAny(last, "_/") {
		return fmt.Sprintf("no domain ends in %q: the last label has letters, digits and hyphens", last)
	}
	return ""
}

// notOfZones reports whether a character is invalid in zone names. Valid are the characters
// of host names, services (RFC 8552) and classless reverse zones (0/25.2.0.192.in-addr.arpa,
// RFC 2317).
func notOfZones(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
}

var zoneFields = []field.Field[farm.Zone]{
	{
		Rule: field.Rule{Name: "defnamesv", Hints: field.Basic(field.AtAnswers, "Name server"), Kind: field.Text, Blank: true, MaxLen: 255, Check: checkRecordName, Must: "the name of a name server, as ns1, or ns1.example.net. with a dot at its end",
			About: "Primary name server in the zone's SOA record (MNAME); relative to the zone unless it ends with a dot."},
		Get: func(z *farm.Zone) field.Value { return field.TextValue(z.NameServer) },
		Set: func(z *farm.Zone, v field.Value) { z.NameServer = v.Text() },
	},
	{
		Rule: field.Rule{Name: "ttl", Hints: field.Basic(field.AtAnswers, "TTL").In(field.Seconds), Kind: field.Number, Min: 0, Max: maxRecordTTL, Null: true, Unset: field.NumberValue(int64(farm.DefaultZoneTTL)), About: "Default TTL of records, in seconds; 0 disables caching."},
		Get:  func(z *farm.Zone) field.Value { return field.NumberValue(int64(z.EffectiveTTL())) },
		Set:  func(z *farm.Zone, v field.Value) { z.TTL = storedTTL(v, farm.DefaultZoneTTL) },
	},
	{
		Rule: field.Rule{Name: "serial", Hints: field.Advanced(field.AtAnswers, "Serial"), Kind: field.Number, Min: 0, Max: math.MaxUint32, Null: true, Unset: field.NumberValue(0),
			About: "Serial of the SOA record. It starts with the time and increases with every zone change. Only a newer serial (RFC 1982) can be set; an older one in a document is ignored, as secondaries would ignore it."},
		Get: func(z *farm.Zone) field.Value { return field.NumberValue(int64(z.Serial)) },
		Set: func(z *farm.Zone, v field.Value) { z.Serial = uint32(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "dnssec", Hints: field.Basic(field.AtAnswers, "Signed"), Kind: field.Text, Values: append([]string{string(farm.SignNot)}, field.Texts(farm.SigningAlgorithms())...), Null: true, Unset: field.TextValue(string(farm.SignNot)),
			About: "DNSSEC signing algorithm. Keys are generated automatically; resolvers validate once the parent zone has the key's DS record."},
		Get: func(z *farm.Zone) field.Value { return field.TextValue(string(cmp.Or(z.Signing, farm.SignNot))) },
		Set: func(z *farm.Zone, v field.Value) {
			z.Signing = field.OrZero(farm.SigningAlgorithm(v.Text()), farm.SignNot)
		},
	},
	{
		Rule: field.Rule{Name: "key_lifetime", Hints: field.Advanced(field.AtAnswers, "Key lifetime").In(field.Days), Kind: field.Number, Min: 0, Max: maxKeyDays, Null: true, Unset: field.NumberValue(0),
			About: "Key lifetime in days before automatic rollover; 0 disables rollover. The new key signs once its DS record has been in the parent zone longer than the TTL of the previous one."},
		Get: func(z *farm.Zone) field.Value { return field.NumberValue(int64(z.KeyDays)) },
		Set: func(z *farm.Zone, v field.Value) { z.KeyDays = uint16(v.Number()) },
	},
}

var recordName = field.Field[farm.Record]{
	Rule: field.Rule{Name: "rname", Hints: field.Basic(field.AtAddress, "Name"), Kind: field.Text, Format: "[\\w.-]+ or @", MaxLen: 253, Check: checkRecordName, Must: "a name relative to the zone, as www, @ for the zone itself or * for all others",
		About: "Name of the record, relative to the zone; @ is the zone itself."},
	Get: func(r *farm.Record) field.Value { return field.TextValue(r.Name) },
	Set: func(r *farm.Record, v field.Value) { r.Name = v.Text() },
}

func checkRecordName(s string) string {
	if s == "" {
		return ""
	}
	if rdata.CheckName(s, "example") != nil {
		return rdata.ErrName.Error()
	}
	return ""
}

var recordType = field.Field[farm.Record]{
	Rule: field.Rule{Name: "type", Hints: field.Basic(field.AtAnswers, "Type"), Kind: field.Text, MaxLen: 16, Values: field.Texts(farm.RecordTypes()), Other: isOtherType, Must: "a number, as TYPE65534 (RFC 3597)", Normalize: smallTypes(), Canon: canonType, Sample: "A",
		About: `Type of the record; DYNA records are answered by a service of the farm. Write unlisted types by number, e.g. TYPE65534, with data like \# 4 c0000201 (RFC 3597).`},
	Get: func(r *farm.Record) field.Value { return field.TextValue(string(r.Type)) },
	Set: func(r *farm.Record, v field.Value) { r.Type = farm.RecordType(v.Text()) },
}

// isOtherType reports whether a zone may have records of a type that is not listed.
func isOtherType(text string) bool {
	_, ok := rdata.TypeOf(text)
	return ok
}

// canonType returns the canonical name of a type.
func canonType(text string) string {
	if t, ok := rdata.TypeOf(text); ok {
		return string(t)
	}
	return text
}

// smallTypes maps types in lower case, which master files accept too (RFC 1035 §5.1).
func smallTypes() map[string]string {
	out := map[string]string{}
	for _, t := range append(farm.RecordTypes(), farm.RecordALIAS) {
		out[strings.ToLower(string(t))] = string(t)
	}
	return out
}

// askedType is recordType for requests, which may also contain ALIAS. It is converted to
// DYNA.
var askedType = func() field.Field[farm.Record] {
	f := recordType
	f.Values = append(slices.Clone(f.Values), string(farm.RecordALIAS))
	f.About += " ALIAS gives a name, or the zone itself, the addresses of another name; it becomes a DYNA record of a service that resolves them."
	return f
}()

// noTTLSet represents an unset ttl of a record. It is an invalid number, because 0 is
// valid.
const noTTLSet = -1

// storedTTL converts a ttl into its stored form. null and the inherited value become 0.
func storedTTL(v field.Value, unset farm.Seconds) farm.Seconds {
	if v.Null() || v.Number() == int64(unset) {
		return 0
	}
	return farm.StoredTTL(farm.Seconds(v.Number()))
}

var recordTTL = field.Field[farm.Record]{
	Rule: field.Rule{Name: "ttl", Hints: field.Basic(field.AtAnswers, "TTL").In(field.Seconds), IfUnset: field.ShowNull, Kind: field.Number, Min: 0, Max: maxRecordTTL, Null: true, Unset: field.NumberValue(noTTLSet), About: "TTL of the record, in seconds; 0 disables caching. Defaults to the zone's TTL."},
	Get: func(r *farm.Record) field.Value {
		switch r.TTL {
		case 0:
			return field.NumberValue(noTTLSet)
		case farm.NoTTL:
			return field.NumberValue(0)
		}
		return field.NumberValue(int64(r.TTL))
	},
	Set: func(r *farm.Record, v field.Value) {
		if r.TTL = 0; !v.Null() && v.Number() != noTTLSet {
			r.TTL = farm.StoredTTL(farm.Seconds(v.Number()))
		}
	},
}

var recordData = field.Field[farm.Record]{
	Rule: field.Rule{Name: "rdata", Hints: field.Basic(field.AtAnswers, "Value"), Kind: field.Text, MaxLen: maxRecord, Must: "what the type holds", About: "Value in zone file format: an address for A, a name for CNAME, \"10 mail\" for MX, the name of a service for DYNA."},
	Get:  func(r *farm.Record) field.Value { return field.TextValue(r.Data) },
	Set:  func(r *farm.Record, v field.Value) { r.Data = v.Text() },
}

var recordComment = field.Field[farm.Record]{
	Rule: field.Rule{Name: "comment", Hints: field.Advanced(field.AtNotes, "Comment"), Kind: field.Text, Blank: true, Null: true, MaxLen: 256, About: "Free-text comment."},
	Get:  func(r *farm.Record) field.Value { return field.TextValue(r.Comment) },
	Set:  func(r *farm.Record, v field.Value) { r.Comment = v.Text() },
}

// CheckAlias explains why a value is invalid for ALIAS, which needs a host name; nil if it
// is valid.
func CheckAlias(data string) *field.Error {
	name := strings.TrimSuffix(data, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return &field.Error{Path: "", Field: "rdata", Message: fmt.Sprintf("rdata must be a host name with type ALIAS, got %s: an address is a record of type A or AAAA", field.Show(data))}
	}
	if problem := format.Host(name); problem != "" {
		return &field.Error{Path: "", Field: "rdata", Message: fmt.Sprintf("rdata must be a host name with type ALIAS, as www.example.net. with a dot at its end, got %s: %s", field.Show(data), problem)}
	}
	return nil
}

// MakeAliases creates services for the ALIAS records of a zone, and yields those for which
// it cannot.
func MakeAliases(g *farm.GSLB, z *farm.Zone, yield func(position int, err field.Error) bool) {
	for i := range z.Records {
		r := &z.Records[i]
		if r.Type != farm.RecordALIAS {
			continue
		}
		if err := CheckAlias(r.Data); err == nil {
			g.Alias(z, r)
		} else if !yield(i, *err) {
			return
		}
	}
}

// ZonePath and RecordPath return the Path of errors. Numbers are as in the API.
func ZonePath(farmName, zone string) string {
	return profile.FarmPath(farmName) + " zone " + field.Show(zone)
}

// RecordPath returns the Path of a record.
func RecordPath(farmName, zone string, number int) string {
	return fmt.Sprintf("%s record %d", ZonePath(farmName, zone), number)
}

func checkZones(f *farm.Farm, yield func(field.Error) bool) bool {
	if n := len(f.Global.Zones); n > MaxZones && !yield(field.Error{Path: profile.FarmPath(f.Name), Field: "zones", Message: fmt.Sprintf("zones: at most %d are possible in a farm, got %d", MaxZones, n)}) {
		return false
	}
	names := map[string]bool{}
	for i := range f.Global.Zones {
		z := &f.Global.Zones[i]
		path := ZonePath(f.Name, z.Name)
		if names[z.Name] && !yield(field.Error{Path: path, Field: "name", Message: fmt.Sprintf("name must be unique in the farm, the zone %s exists already", field.Show(z.Name))}) {
			return false
		}
		names[z.Name] = true
		if !ZoneDocument.Verify(path, z, nil, yield) || !checkKeys(f, z, yield) || !checkRecords(f, z, path, yield) {
			return false
		}
	}
	return true
}

// verified yields the invalid values of an object.
func verified[T any](t *field.Table[T], of *T) func(func(field.Error) bool) {
	return func(yield func(field.Error) bool) { t.Verify("", of, nil, yield) }
}

// ZoneWarning describes what cannot work in a zone, or returns "".
func ZoneWarning(g *farm.GSLB, z *farm.Zone) string {
	if z.Signing != "" && len(g.Transfers) > 0 {
		return fmt.Sprintf("zone %s: it is signed as it is asked for, so nobody may copy it (transfer_from)", z.Name)
	}
	for _, r := range z.OfType(farm.RecordDYNA) {
		if len(g.Transfers) > 0 {
			return fmt.Sprintf("zone %s: secondaries (transfer_from) copy the addresses that services choose at that moment, as those of %s, and keep them until the zone itself is changed, whatever becomes of the backends", z.Name, r.Name)
		}
		break
	}
	return NameServerWarning(z)
}

// NameServerWarning names a name server of a zone that cannot be found, or returns "".
func NameServerWarning(z *farm.Zone) string {
	servers := []string{cmp.Or(z.NameServer, "ns1")}
	for _, r := range z.OfType("NS") {
		if ownerKey(z, r.Name) == "@" {
			servers = append(servers, r.Data)
		}
	}
	if len(servers) == 1 {
		return fmt.Sprintf("zone %s: it has no NS record, as @ NS %s, without which resolvers and secondaries take it for broken", z.Name, servers[0])
	}
	type server struct{ name, relative string }
	var ours []server
	without, aliases := map[string]bool{}, map[string]bool{}
	for _, name := range servers {
		if _, err := netip.ParseAddr(strings.TrimSuffix(name, ".")); err == nil {
			return fmt.Sprintf("zone %s: its name server %s is an address, but must be a name, as ns1 with a record of type A", z.Name, name)
		}
		relative := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), "."+strings.TrimPrefix(z.FQDN(), ".")), ".")
		if z.Name != farm.RootZone && strings.HasSuffix(name, ".") && strings.HasSuffix(relative, strings.TrimSuffix(strings.ToLower(name), ".")) {
			continue // in another zone
		}
		ours, without[relative] = append(ours, server{name: name, relative: relative}), true
	}
	for _, r := range z.MayBeNamed(slices.Collect(maps.Keys(without))...) {
		if (r.Type == "A" || r.Type == "AAAA" || r.Type == farm.RecordDYNA) && r.Data != "0.0.0.0" && r.Data != "::" {
			delete(without, ownerKey(z, r.Name))
		}
		if r.Type == "CNAME" {
			aliases[ownerKey(z, r.Name)] = true
		}
	}
	for _, s := range ours {
		if aliases[s.relative] {
			return fmt.Sprintf("zone %s: its name server %s is a CNAME, but must have addresses (RFC 2181), or secondaries do not load the zone", z.Name, s.name)
		}
		if without[s.relative] {
			return fmt.Sprintf("zone %s: its name server %s has no address yet; add a record %s of type A", z.Name, s.name, s.relative)
		}
	}
	return ""
}
