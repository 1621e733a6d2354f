package validate

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
	ZoneCreate   = Table[farm.Zone]{fields: slices.Concat([]field[farm.Zone]{require(named(zoneName, "id"))}, zoneFields)}
	ZoneUpdate   = Table[farm.Zone]{fields: zoneFields}
	ZoneDocument = Table[farm.Zone]{fields: slices.Concat([]field[farm.Zone]{require(zoneName)}, zoneFields)}

	RecordCreate   = Table[farm.Record]{fields: []field[farm.Record]{require(recordName), require(askedType), recordTTL, require(recordData), recordComment}}
	RecordUpdate   = Table[farm.Record]{fields: []field[farm.Record]{recordName, askedType, recordTTL, recordData, recordComment}}
	RecordDocument = Table[farm.Record]{fields: []field[farm.Record]{require(recordName), require(recordType), recordTTL, require(recordData), recordComment}}
)

// printable matches printable ASCII characters and blanks.
var printable = regexp.MustCompile(`^[ -~]*$`)

var zoneName = field[farm.Zone]{
	rule: rule{name: "name", hints: basic(atAddress, "Zone"), kind: kindText, format: "domain", maxLen: maxZoneName, check: checkZoneName, canon: canonZone, must: "the name of a domain, as example.com, or . for the root",
		about: "Domain of the zone, e.g. example.com; reverse zones as 2.0.192.in-addr.arpa, and . for the root."},
	get: func(z *farm.Zone) Value { return textValue(z.Name) },
	set: func(z *farm.Zone, v Value) { z.Name = v.text },
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

var zoneFields = []field[farm.Zone]{
	{
		rule: rule{name: "defnamesv", hints: basic(atAnswers, "Name server"), kind: kindText, blank: true, maxLen: 255, check: checkRecordName, must: "the name of a name server, as ns1, or ns1.example.net. with a dot at its end",
			about: "Primary name server in the zone's SOA record (MNAME); relative to the zone unless it ends with a dot."},
		get: func(z *farm.Zone) Value { return textValue(z.NameServer) },
		set: func(z *farm.Zone, v Value) { z.NameServer = v.text },
	},
	{
		rule: rule{name: "ttl", hints: basic(atAnswers, "TTL").in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, null: true, unset: numberValue(int64(farm.DefaultZoneTTL)), about: "Default TTL of records, in seconds; 0 disables caching."},
		get:  func(z *farm.Zone) Value { return numberValue(int64(z.EffectiveTTL())) },
		set:  func(z *farm.Zone, v Value) { z.TTL = storedTTL(v, farm.DefaultZoneTTL) },
	},
	{
		rule: rule{name: "serial", hints: advanced(atAnswers, "Serial"), kind: kindNumber, min: 0, max: math.MaxUint32, null: true, unset: numberValue(0),
			about: "Serial of the SOA record. It starts with the time and increases with every zone change. Only a newer serial (RFC 1982) can be set; an older one in a document is ignored, as secondaries would ignore it."},
		get: func(z *farm.Zone) Value { return numberValue(int64(z.Serial)) },
		set: func(z *farm.Zone, v Value) { z.Serial = uint32(v.number) },
	},
	{
		rule: rule{name: "dnssec", hints: basic(atAnswers, "Signed"), kind: kindText, values: append([]string{string(farm.SignNot)}, texts(farm.SigningAlgorithms())...), null: true, unset: textValue(string(farm.SignNot)),
			about: "DNSSEC signing algorithm. Keys are generated automatically; resolvers validate once the parent zone has the key's DS record."},
		get: func(z *farm.Zone) Value { return textValue(string(cmp.Or(z.Signing, farm.SignNot))) },
		set: func(z *farm.Zone, v Value) { z.Signing = orZero(farm.SigningAlgorithm(v.text), farm.SignNot) },
	},
	{
		rule: rule{name: "key_lifetime", hints: advanced(atAnswers, "Key lifetime").in(inDays), kind: kindNumber, min: 0, max: maxKeyDays, null: true, unset: numberValue(0),
			about: "Key lifetime in days before automatic rollover; 0 disables rollover. The new key signs once its DS record has been in the parent zone longer than the TTL of the previous one."},
		get: func(z *farm.Zone) Value { return numberValue(int64(z.KeyDays)) },
		set: func(z *farm.Zone, v Value) { z.KeyDays = uint16(v.number) },
	},
}

var recordName = field[farm.Record]{
	rule: rule{name: "rname", hints: basic(atAddress, "Name"), kind: kindText, format: "[\\w.-]+ or @", maxLen: 253, check: checkRecordName, must: "a name relative to the zone, as www, @ for the zone itself or * for all others",
		about: "Name of the record, relative to the zone; @ is the zone itself."},
	get: func(r *farm.Record) Value { return textValue(r.Name) },
	set: func(r *farm.Record, v Value) { r.Name = v.text },
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

var recordType = field[farm.Record]{
	rule: rule{name: "type", hints: basic(atAnswers, "Type"), kind: kindText, maxLen: 16, values: texts(farm.RecordTypes()), others: isOtherType, must: "a number, as TYPE65534 (RFC 3597)", normalize: smallTypes(), canon: canonType, sample: "A",
		about: `Type of the record; DYNA records are answered by a service of the farm. Write unlisted types by number, e.g. TYPE65534, with data like \# 4 c0000201 (RFC 3597).`},
	get: func(r *farm.Record) Value { return textValue(string(r.Type)) },
	set: func(r *farm.Record, v Value) { r.Type = farm.RecordType(v.text) },
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
var askedType = func() field[farm.Record] {
	f := recordType
	f.values = append(slices.Clone(f.values), string(farm.RecordALIAS))
	f.about += " ALIAS gives a name, or the zone itself, the addresses of another name; it becomes a DYNA record of a service that resolves them."
	return f
}()

// noTTLSet represents an unset ttl of a record. It is an invalid number, because 0 is
// valid.
const noTTLSet = -1

// storedTTL converts a ttl into its stored form. null and the inherited value become 0.
func storedTTL(v Value, unset farm.Seconds) farm.Seconds {
	if v.Null() || v.number == int64(unset) {
		return 0
	}
	return farm.StoredTTL(farm.Seconds(v.number))
}

var recordTTL = field[farm.Record]{
	rule: rule{name: "ttl", hints: basic(atAnswers, "TTL").in(inSeconds), bare: asNull, kind: kindNumber, min: 0, max: maxRecordTTL, null: true, unset: numberValue(noTTLSet), about: "TTL of the record, in seconds; 0 disables caching. Defaults to the zone's TTL."},
	get: func(r *farm.Record) Value {
		switch r.TTL {
		case 0:
			return numberValue(noTTLSet)
		case farm.NoTTL:
			return numberValue(0)
		}
		return numberValue(int64(r.TTL))
	},
	set: func(r *farm.Record, v Value) {
		if r.TTL = 0; !v.Null() && v.number != noTTLSet {
			r.TTL = farm.StoredTTL(farm.Seconds(v.number))
		}
	},
}

var recordData = field[farm.Record]{
	rule: rule{name: "rdata", hints: basic(atAnswers, "Value"), kind: kindText, maxLen: maxRecord, must: "what the type holds", about: "Value in zone file format: an address for A, a name for CNAME, \"10 mail\" for MX, the name of a service for DYNA."},
	get:  func(r *farm.Record) Value { return textValue(r.Data) },
	set:  func(r *farm.Record, v Value) { r.Data = v.text },
}

var recordComment = field[farm.Record]{
	rule: rule{name: "comment", hints: advanced(atNotes, "Comment"), kind: kindText, blank: true, null: true, maxLen: 256, about: "Free-text comment."},
	get:  func(r *farm.Record) Value { return textValue(r.Comment) },
	set:  func(r *farm.Record, v Value) { r.Comment = v.text },
}

// CheckAlias explains why a value is invalid for ALIAS, which needs a host name; nil if it
// is valid.
func CheckAlias(data string) *Error {
	name := strings.TrimSuffix(data, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return &Error{"", "rdata", fmt.Sprintf("rdata must be a host name with type ALIAS, got %s: an address is a record of type A or AAAA", show(data))}
	}
	if problem := checkHost(name); problem != "" {
		return &Error{"", "rdata", fmt.Sprintf("rdata must be a host name with type ALIAS, as www.example.net. with a dot at its end, got %s: %s", show(data), problem)}
	}
	return nil
}

// MakeAliases creates services for the ALIAS records of a zone, and yields those for which
// it cannot.
func MakeAliases(g *farm.GSLB, z *farm.Zone, yield func(position int, err Error) bool) {
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
func ZonePath(farmName, zone string) string { return FarmPath(farmName) + " zone " + show(zone) }

// RecordPath returns the Path of a record.
func RecordPath(farmName, zone string, number int) string {
	return fmt.Sprintf("%s record %d", ZonePath(farmName, zone), number)
}

func checkZones(f *farm.Farm, yield func(Error) bool) bool {
	if n := len(f.Global.Zones); n > MaxZones && !yield(Error{FarmPath(f.Name), "zones", fmt.Sprintf("zones: at most %d are possible in a farm, got %d", MaxZones, n)}) {
		return false
	}
	names := map[string]bool{}
	for i := range f.Global.Zones {
		z := &f.Global.Zones[i]
		path := ZonePath(f.Name, z.Name)
		if names[z.Name] && !yield(Error{path, "name", fmt.Sprintf("name must be unique in the farm, the zone %s exists already", show(z.Name))}) {
			return false
		}
		names[z.Name] = true
		if !ZoneDocument.verify(path, z, nil, yield) || !checkKeys(f, z, yield) || !checkRecords(f, z, path, yield) {
			return false
		}
	}
	return true
}

// verified yields the invalid values of an object.
func verified[T any](t *Table[T], of *T) func(func(Error) bool) {
	return func(yield func(Error) bool) { t.verify("", of, nil, yield) }
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
		ours, without[relative] = append(ours, server{name, relative}), true
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
