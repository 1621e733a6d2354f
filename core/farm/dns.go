package farm

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ProfileGSLB is that of farms which answer for zones of the DNS.
const ProfileGSLB Profile = "gslb"

// GSLB holds the settings of a gslb farm: the zones it answers for, and the services
// that choose addresses for some of their names.
type GSLB struct {
	Services []DNSService `json:"services,omitempty"`
	Zones    []Zone       `json:"zones,omitempty"`
	// LastZone is the highest ID a zone of the farm was given, also one that is gone.
	LastZone uint32 `json:"last_zone,omitempty"`
	// ServerVersion is what version.bind is answered with; empty refuses the question.
	// NSID is the name of this server for clients that ask for it (RFC 5001).
	ServerVersion string `json:"server_version,omitempty"`
	NSID          string `json:"nsid,omitempty"`
	// QueryRate bounds the queries per second of a client net (/24 of IPv4, /56 of
	// IPv6), AnswerRate those that get the same answer; 0 does not. Of answers
	// beyond AnswerRate every Slip-th is sent truncated, so that a client whose
	// address was borrowed comes back by TCP; 0 means DefaultSlip.
	QueryRate  uint32 `json:"query_rate,omitempty"`
	AnswerRate uint32 `json:"answer_rate,omitempty"`
	Slip       uint8  `json:"slip,omitempty"`
	// MaxConnections bounds the TCP connections of the farm; 0 means
	// DefaultDNSConnections. IdleTimeout is how long one may be silent; 0 means
	// DefaultDNSIdle.
	MaxConnections uint32  `json:"maxconnections,omitempty"`
	IdleTimeout    Seconds `json:"idle_timeout,omitempty"`
	// Transfers are the secondaries that may copy zones (RFC 5936); none, nobody may.
	// Notified are told of changes (RFC 1996), on port 53.
	Transfers []netip.Prefix `json:"transfer_from,omitempty"`
	Notified  []netip.Addr   `json:"notify,omitempty"`
	// Keys sign transfers and what is told of changes (RFC 8945); with any, nobody copies
	// a zone without one of them. The first signs what is told.
	Keys []TransferKey `json:"transfer_keys,omitempty"`
	// TLS answers on TLSPort, too, by connections that are encrypted (DoT, RFC 7858);
	// nil does not. Port 0 means DefaultDoTPort.
	TLS     *TLS   `json:"tls,omitempty"`
	TLSPort uint16 `json:"dot_port,omitempty"`
	// Logs makes each question that is answered leave a line where AccessLog says.
	Logs      bool      `json:"logs,omitempty"`
	AccessLog AccessLog `json:"access_log,omitzero"`
}

// DNSService chooses the addresses a name has just now: of the backends that
// work, for the client that asks.
type DNSService struct {
	// ID is stable and unique among all services of the configuration.
	ID        uint32       `json:"id,omitempty"`
	Name      string       `json:"name"`
	Algorithm DNSAlgorithm `json:"algorithm"`
	// Port is that of the built-in check by TCP; 0 means DefaultDNSPort. Check is the
	// name of the check that is asked instead.
	Port  uint16 `json:"deftcpport,omitempty"`
	Check string `json:"farmguardian,omitempty"`
	// TTL is how long answers may be kept, DegradedTTL while a backend is down; 0 means
	// DefaultDNSTTL, and TTL. NoTTL is a TTL of zero.
	TTL         Seconds `json:"ttl,omitempty"`
	DegradedTTL Seconds `json:"degraded_ttl,omitempty"`
	// Answers is how many addresses an answer has at most; 0 means all that work with
	// roundrobin, and one otherwise.
	Answers uint8 `json:"answers,omitempty"`
	// AllDown is what is answered when no backend works; empty means AllDownAll.
	// Fallback are the addresses of AllDownFallback.
	AllDown  AllDown      `json:"all_down,omitempty"`
	Fallback []netip.Addr `json:"fallback,omitempty"`
	// Unprobed answers with backends before their first probe has a result.
	Unprobed bool      `json:"answer_unprobed,omitempty"`
	Backends []Backend `json:"backends,omitempty"`
	// LastSlot is the highest slot a backend was given, also one that is gone.
	LastSlot uint32 `json:"last_seat,omitempty"`
}

// DNSAlgorithm is how a service of a gslb farm chooses.
type DNSAlgorithm string

// The algorithms.
const (
	DNSRoundRobin DNSAlgorithm = "roundrobin" // all that work, beginning with another one each time
	DNSPriority   DNSAlgorithm = "prio"       // the best that works
	DNSWeight     DNSAlgorithm = "weight"     // by chance, in proportion to weights
	DNSHash       DNSAlgorithm = "hash"       // always the same for a client net
	DNSGeo        DNSAlgorithm = "geo"        // those for the client's net, country or continent, else those for none
	DNSNearest    DNSAlgorithm = "nearest"    // those the fewest kilometres from the client
	DNSFastest    DNSAlgorithm = "fastest"    // those that answer their checks soonest
	DNSLoad       DNSAlgorithm = "load"       // those that have the least to do
)

// DNSAlgorithms lists every algorithm.
func DNSAlgorithms() []DNSAlgorithm {
	return []DNSAlgorithm{DNSRoundRobin, DNSPriority, DNSWeight, DNSHash, DNSGeo, DNSNearest, DNSFastest, DNSLoad}
}

// AllDown is what a service answers when none of its backends works.
type AllDown string

// The answers.
const (
	AllDownAll      AllDown = "all"      // as if all worked: somebody may reach one
	AllDownNone     AllDown = "none"     // no address
	AllDownFail     AllDown = "servfail" // a failure, so that resolvers ask another server
	AllDownFallback AllDown = "fallback" // the fallback addresses
)

// AllDowns lists every one.
func AllDowns() []AllDown {
	return []AllDown{AllDownAll, AllDownNone, AllDownFail, AllDownFallback}
}

// Zone is a part of the DNS a gslb farm answers for.
type Zone struct {
	// ID is stable and unique among the zones of the farm.
	ID uint32 `json:"id,omitempty"`
	// Name is the domain in lower case, without a dot at its end, or RootZone.
	Name string `json:"name"`
	// NameServer is the first name server of the SOA record, relative to the zone
	// unless it ends with a dot.
	NameServer string `json:"defnamesv,omitempty"`
	// Serial is that of the SOA record; it rises with every change of the zone.
	Serial uint32 `json:"serial,omitempty"`
	// TTL is that of records without one; 0 means DefaultZoneTTL, NoTTL zero.
	TTL     Seconds  `json:"ttl,omitempty"`
	Records []Record `json:"records,omitempty"`
	// Packed holds the records of a large zone in an engine, which has no Records then: runs
	// of at most PackedRun of them, see AppendPacked. Successive configurations share the
	// runs that did not change. mgmt never has it.
	Packed []string `json:"-" cbor:"packed,omitempty"`
	// LastRecord is the highest ID a record was given, also one that is gone.
	LastRecord uint32 `json:"last_record,omitempty"`
	// Signing is what answers are signed with. Keys are made when that is set first, and
	// kept while it is not.
	Signing SigningAlgorithm `json:"dnssec,omitempty"`
	Keys    []ZoneKey        `json:"keys,omitempty"`
	// Held are times to live of answers, KeysHeld those of the list of keys, that were longer
	// than they are now and that resolvers may still go by.
	Held     HeldTTL `json:"held,omitzero"`
	KeysHeld HeldTTL `json:"keys_held,omitzero"`
	// KeyDays is after how many days the next key is made by itself; 0: never.
	KeyDays uint16 `json:"key_lifetime,omitempty"`
}

// Record is one resource of a zone.
type Record struct {
	// ID is one more than the number the API calls it; 0 means that none was given yet.
	ID uint32 `json:"id,omitempty"`
	// Name is relative to the zone; "@" is the zone itself.
	Name string     `json:"name"`
	Type RecordType `json:"type"`
	// TTL is 0 if the zone's, or that of the service, applies. NoTTL is a TTL of zero.
	TTL Seconds `json:"ttl,omitempty"`
	// Data is the value in the words of master files; names in it are relative to
	// the zone unless they end with a dot. Of DYNA it is the name of a service.
	Data    string `json:"rdata"`
	Comment string `json:"comment,omitempty"`
}

// RecordType is what a record holds.
type RecordType string

// RecordDYNA is answered by a service of the farm.
const RecordDYNA RecordType = "DYNA"

// RecordALIAS is asked for where a name, the zone itself too, is to have the addresses of
// another one. No zone has it: it becomes DYNA, see Alias.
const RecordALIAS RecordType = "ALIAS"

// RecordTypes lists the types that have names, those of the family first. Others are
// written by their numbers, as TYPE65534 (RFC 3597).
func RecordTypes() []RecordType {
	return []RecordType{
		"A", "AAAA", "NS", "CNAME", RecordDYNA, "MX", "SRV", "TXT", "PTR", "NAPTR", "SOA", "CAA", "TLSA", "SVCB", "HTTPS", "DS",
		"DNAME", "SSHFP", "HINFO", "RP", "LOC", "URI", "CERT", "OPENPGPKEY", "SMIMEA", "AFSDB", "KX", "DHCID", "EUI48", "EUI64",
		"APL", "CSYNC", "IPSECKEY", "HIP", "LP", "NID", "L32", "L64", "SPF",
	}
}

// FirstDNSBackend is what the first backend of a service of a gslb farm is called: 1 is
// the primary, 2 the secondary (contract).
const FirstDNSBackend = 1

// Defaults of a gslb farm.
const (
	DefaultDNSPort        uint16  = 80
	DefaultDNSTTL         Seconds = 30
	DefaultZoneTTL        Seconds = 3600
	DefaultSlip           uint8   = 2
	DefaultDNSConnections uint32  = 1000
	DefaultDNSIdle        Seconds = 10
	DefaultDoTPort        uint16  = 853
)

// DefaultGSLB returns the settings a new gslb farm starts with.
func DefaultGSLB() *GSLB { return &GSLB{} }

// NewZone is a zone as it begins (contract, zones of gslb farms): with a name
// server whose address is still to be told.
func NewZone(name string) Zone {
	return Zone{Name: strings.ToLower(name), NameServer: "ns1", Records: []Record{
		{Name: "@", Type: "NS", Data: "ns1"},
		{Name: "ns1", Type: "A", Data: "0.0.0.0"},
	}}
}

// Continents are the codes of those there are.
func Continents() []string { return []string{"AF", "AN", "AS", "EU", "NA", "OC", "SA"} }

// ParseCoordinates reads a latitude and a longitude in degrees, as "48.14,11.58".
func ParseCoordinates(text string) (latitude, longitude float64, err error) {
	north, east, _ := strings.Cut(text, ",")
	latitude, err = strconv.ParseFloat(strings.TrimSpace(north), 64)
	if err == nil {
		longitude, err = strconv.ParseFloat(strings.TrimSpace(east), 64)
	}
	if err != nil || !(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180) { // NaN is in no range
		return 0, 0, errors.New("it is no latitude and longitude as 48.14,11.58")
	}
	return latitude, longitude, nil
}

// EffectivePort is the port in force.
func (s *DNSService) EffectivePort() uint16 { return cmp.Or(s.Port, DefaultDNSPort) }

// EffectiveAllDown is the answer in force.
func (s *DNSService) EffectiveAllDown() AllDown { return cmp.Or(s.AllDown, AllDownAll) }

// MostAnswers is how many addresses an answer has at most.
func (s *DNSService) MostAnswers() int {
	if s.Answers == 0 && s.Algorithm != DNSRoundRobin {
		return 1
	}
	if s.Answers == 0 {
		return len(s.Backends)
	}
	return int(s.Answers)
}

// FQDN is the name of the zone with a dot at its end; that of the root is one.
func (z *Zone) FQDN() string { return strings.TrimSuffix(z.Name, ".") + "." }

// Qualify is a name of the zone with a dot at its end.
func (z *Zone) Qualify(relative string) string {
	if z.Name == RootZone {
		return relative + "."
	}
	return relative + "." + z.Name + "."
}

// RootZone is the name of the root of the DNS, the only one that has a dot at its end.
const RootZone = "."

// Record returns the record the API calls by that number, nil when there is none.
func (z *Zone) Record(number int) *Record {
	for i := range z.Records {
		if int(z.Records[i].ID)-1 == number {
			return &z.Records[i]
		}
	}
	return nil
}

// Zone returns the zone of that name, nil when there is none.
func (d *GSLB) Zone(name string) *Zone {
	for i := range d.Zones {
		if d.Zones[i].Name == name {
			return &d.Zones[i]
		}
	}
	return nil
}

// Service returns the service of that name, nil when there is none.
func (d *GSLB) Service(name string) *DNSService {
	for i := range d.Services {
		if d.Services[i].Name == name {
			return &d.Services[i]
		}
	}
	return nil
}

// UsedBy names the zones that have a record answered by the service.
func (d *GSLB) UsedBy(service string) (zones []string) {
	for i := range d.Zones {
		if slices.ContainsFunc(d.Zones[i].Records, func(r Record) bool { return r.Type == RecordDYNA && r.Data == service }) {
			zones = append(zones, d.Zones[i].Name)
		}
	}
	return zones
}

// RenameDNSFarm has the services follow that name a gslb farm which is called something
// else now.
func (c *Config) RenameDNSFarm(from, to string) {
	for i := range c.Farms {
		services := c.Farms[i].Services()
		for j := range services {
			if services[j].DNSFarm == from {
				services[j].DNSFarm = to
			}
		}
	}
}

// ChoosesByPlace is the first service of the farm that asks where clients are, nil for
// none; with measured that it asks how far they are from its backends.
func (f *Farm) ChoosesByPlace(measured bool) *DNSService {
	if f.Global == nil {
		return nil
	}
	for i := range f.Global.Services {
		s := &f.Global.Services[i]
		if s.Algorithm == DNSNearest || !measured && s.Algorithm == DNSGeo && slices.ContainsFunc(s.Backends, func(b Backend) bool { return len(b.Countries)+len(b.Continents) > 0 }) {
			return s
		}
	}
	return nil
}

// Zones are the settings of a farm that answers for zones, nil for others.
func (f *Farm) Zones() *GSLB { return f.Global }

// WithZones returns a copy of a farm that answers for zones, which has these instead. It
// shares all other settings with f.
func (f *Farm) WithZones(zones []Zone) Farm {
	out, global := *f, *f.Global
	global.Zones, out.Global = zones, &global
	return out
}

// Records is how many records the zones of a farm have. Packed ones count as one run each.
func (f *Farm) Records() (n int) {
	if f.Global == nil {
		return 0
	}
	for i := range f.Global.Zones {
		n += len(f.Global.Zones[i].Records) + len(f.Global.Zones[i].Packed)
	}
	return n
}

// OwnZones has the farm share its lists of zones and keys with nobody: what each zone has
// is still shared, and may be replaced.
func (f *Farm) OwnZones() {
	own := *f.Global
	own.Zones, own.Keys = slices.Clone(own.Zones), slices.Clone(own.Keys)
	f.Global = &own
}

// What every profile says of its farms (see settings), said by gslb.

func (d *GSLB) own() owner                { return nil }
func (d *GSLB) transports() []L4Protocol  { return []L4Protocol{L4TCP, L4UDP} }
func (d *GSLB) portsText(f *Farm) string  { return f.onePort()[0].String() }
func (d *GSLB) inEngine(*Farm) bool       { return true }
func (d *GSLB) keepsPort() bool           { return true }
func (d *GSLB) mixesVersions() bool       { return true }
func (d *GSLB) mark() uint32              { return 0 }
func (d *GSLB) maxConnections() uint32    { return d.MaxConnections }
func (d *GSLB) source() netip.Addr        { return netip.Addr{} }
func (d *GSLB) carries() Traffic          { return TrafficQueries }
func (d *GSLB) reach(*Farm) string        { return "" }
func (d *GSLB) tls() *TLS                 { return d.TLS }
func (d *GSLB) headerRules() *HeaderRules { return nil }
func (d *GSLB) filtered() bool            { return false }
func (d *GSLB) keyHeaders() []string      { return nil }
func (d *GSLB) noGrace()                  {}

// EffectiveTLSPort is the port of encrypted connections, 0 where there are none.
func (d *GSLB) EffectiveTLSPort() uint16 {
	if d.TLS == nil {
		return 0
	}
	return cmp.Or(d.TLSPort, DefaultDoTPort)
}

// vports are the farm's own, and that of encrypted connections.
func (d *GSLB) vports(f *Farm) []PortRange {
	list, port := f.onePort(), d.EffectiveTLSPort()
	switch {
	case port == 0 || port == f.VPort:
		return list
	case port < f.VPort:
		return []PortRange{{First: port, Last: port}, list[0]}
	}
	return append(list, PortRange{First: port, Last: port})
}

// log is in JSON always: the other form is one of requests.
func (d *GSLB) log() (*AccessLog, bool) {
	of := d.AccessLog
	if of.Format = LogJSON; len(of.Fields) == 0 {
		of.Fields = QueryLogFields()
	}
	return &of, d.Logs
}

func (d *GSLB) groups(f *Farm) (all []Group) {
	for i := range d.Services {
		all = append(all, Group{Farm: f, of: &d.Services[i]})
	}
	return all
}

func (d *GSLB) copyTo(f *Farm) {
	out := *d
	out.Transfers, out.Notified, out.Keys = slices.Clone(d.Transfers), slices.Clone(d.Notified), slices.Clone(d.Keys)
	out.AccessLog = d.AccessLog.clone()
	if out.TLS = own(d.TLS); out.TLS != nil {
		out.TLS.Certificates = slices.Clone(d.TLS.Certificates)
	}
	out.Services, out.Zones = slices.Clone(d.Services), slices.Clone(d.Zones)
	for i := range out.Services {
		s := &out.Services[i]
		s.Fallback, s.Backends = slices.Clone(s.Fallback), cloneBackends(s.Backends)
	}
	for i := range out.Zones {
		z := &out.Zones[i]
		z.Records, z.Packed, z.Keys = slices.Clone(z.Records), slices.Clone(z.Packed), slices.Clone(z.Keys)
	}
	f.Global = &out
}

// What a service says of its backends (see owner).

func (s *DNSService) called() string            { return s.Name }
func (s *DNSService) number() *uint32           { return &s.ID }
func (s *DNSService) lastSlot() *uint32         { return &s.LastSlot }
func (s *DNSService) list() *[]Backend          { return &s.Backends }
func (s *DNSService) sessionsBy() string        { return "" }
func (s *DNSService) sessionTTL() Seconds       { return 0 }
func (s *DNSService) redirects() bool           { return false }
func (s *DNSService) check() *string            { return &s.Check }
func (s *DNSService) builtIn() (string, uint16) { return "check_tcp", s.EffectivePort() }
func (s *DNSService) choosing() Choosing        { return Choosing{} }
