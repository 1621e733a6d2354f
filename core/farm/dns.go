package farm

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ProfileGSLB is the profile of authoritative DNS farms.
const ProfileGSLB Profile = "gslb"

// GSLB holds the settings of a gslb farm: its zones, and services that choose addresses for
// some of their names.
type GSLB struct {
	Services []DNSService `json:"services,omitempty"`
	Zones    []Zone       `json:"zones,omitempty"`
	// LastZone is the highest zone ID used so far.
	LastZone uint32 `json:"last_zone,omitempty"`
	// ServerVersion is the answer to version.bind; empty refuses the query. NSID identifies
	// this server to clients that request it (RFC 5001).
	ServerVersion string `json:"server_version,omitempty"`
	NSID          string `json:"nsid,omitempty"`
	// QueryRate limits the queries per second of a client net (/24 of IPv4, /56 of IPv6),
	// AnswerRate those with the same answer; 0 means no limit. Above AnswerRate every
	// Slip-th answer is sent truncated, so that clients whose address is spoofed can use
	// TCP; 0 means DefaultSlip.
	QueryRate  uint32 `json:"query_rate,omitempty"`
	AnswerRate uint32 `json:"answer_rate,omitempty"`
	Slip       uint8  `json:"slip,omitempty"`
	// MaxConnections limits the farm's TCP connections; 0 means DefaultDNSConnections.
	// IdleTimeout is their idle timeout; 0 means DefaultDNSIdle.
	MaxConnections uint32  `json:"maxconnections,omitempty"`
	IdleTimeout    Seconds `json:"idle_timeout,omitempty"`
	// Transfers lists the secondaries that may copy zones (RFC 5936); empty allows none.
	// Notified lists the addresses notified of changes (RFC 1996), on port 53.
	Transfers []netip.Prefix `json:"transfer_from,omitempty"`
	Notified  []netip.Addr   `json:"notify,omitempty"`
	// Keys sign transfers and notifications (RFC 8945). If there are any, transfers require
	// one of them. The first key signs notifications.
	Keys []TransferKey `json:"transfer_keys,omitempty"`
	// TLS also serves encrypted connections on TLSPort (DoT, RFC 7858); nil does not. Port 0
	// means DefaultDoTPort.
	TLS     *TLS   `json:"tls,omitempty"`
	TLSPort uint16 `json:"dot_port,omitempty"`
	// Logs logs each answered query as configured in AccessLog.
	Logs      bool      `json:"logs,omitempty"`
	AccessLog AccessLog `json:"access_log,omitzero"`
}

// DNSService chooses the current addresses of a name among working backends, depending on
// the client.
type DNSService struct {
	// ID is stable and unique among all services of the configuration.
	ID        uint32       `json:"id,omitempty"`
	Name      string       `json:"name"`
	Algorithm DNSAlgorithm `json:"algorithm"`
	// Port is the port of the built-in TCP check; 0 means DefaultDNSPort. Check is the name
	// of a check that replaces it.
	Port  uint16 `json:"deftcpport,omitempty"`
	Check string `json:"farmguardian,omitempty"`
	// TTL is the TTL of answers; 0 means DefaultDNSTTL. DegradedTTL applies while a
	// backend is down; 0 means TTL. NoTTL is a TTL of zero.
	TTL         Seconds `json:"ttl,omitempty"`
	DegradedTTL Seconds `json:"degraded_ttl,omitempty"`
	// Answers is the maximum number of addresses in an answer; 0 means all working ones with
	// roundrobin, and one otherwise.
	Answers uint8 `json:"answers,omitempty"`
	// AllDown is the behaviour when no backend works; empty means AllDownAll. Fallback holds
	// the addresses of AllDownFallback.
	AllDown  AllDown      `json:"all_down,omitempty"`
	Fallback []netip.Addr `json:"fallback,omitempty"`
	// Unprobed includes backends without a probe result.
	Unprobed bool      `json:"answer_unprobed,omitempty"`
	Backends []Backend `json:"backends,omitempty"`
	// LastSlot is the highest backend slot used so far.
	LastSlot uint32 `json:"last_seat,omitempty"`
}

// DNSAlgorithm is how a service of a gslb farm chooses.
type DNSAlgorithm string

// The algorithms.
const (
	DNSRoundRobin DNSAlgorithm = "roundrobin" // all working ones, rotated
	DNSPriority   DNSAlgorithm = "prio"       // the best working one
	DNSWeight     DNSAlgorithm = "weight"     // at random, by weight
	DNSHash       DNSAlgorithm = "hash"       // constant for a client net
	DNSGeo        DNSAlgorithm = "geo"        // by client net, country or continent; else backends without any
	DNSNearest    DNSAlgorithm = "nearest"    // nearest to the client in kilometres
	DNSFastest    DNSAlgorithm = "fastest"    // lowest latency of checks
	DNSLoad       DNSAlgorithm = "load"       // lowest load
)

// DNSAlgorithms lists every algorithm.
func DNSAlgorithms() []DNSAlgorithm {
	return []DNSAlgorithm{DNSRoundRobin, DNSPriority, DNSWeight, DNSHash, DNSGeo, DNSNearest, DNSFastest, DNSLoad}
}

// AllDown is the behaviour of a service without a working backend.
type AllDown string

// The behaviours.
const (
	AllDownAll      AllDown = "all"      // as if all worked: some client may reach one
	AllDownNone     AllDown = "none"     // no address
	AllDownFail     AllDown = "servfail" // a failure, so that resolvers ask another server
	AllDownFallback AllDown = "fallback" // the fallback addresses
)

// AllDowns lists every behaviour.
func AllDowns() []AllDown {
	return []AllDown{AllDownAll, AllDownNone, AllDownFail, AllDownFallback}
}

// Zone is a DNS zone served by a gslb farm.
type Zone struct {
	// ID is stable and unique among the zones of the farm.
	ID uint32 `json:"id,omitempty"`
	// Name is the domain in lower case, without a trailing dot, or RootZone.
	Name string `json:"name"`
	// NameServer is the primary name server in the SOA record, relative to the zone unless
	// it ends with a dot.
	NameServer string `json:"defnamesv,omitempty"`
	// Serial is the serial of the SOA record. It rises with every change of the zone.
	Serial uint32 `json:"serial,omitempty"`
	// TTL is the default of records; 0 means DefaultZoneTTL, NoTTL zero.
	TTL Seconds `json:"ttl,omitempty"`
	// Records holds the records of a small zone. Use All and related methods to read the
	// records of any zone.
	Records []Record `json:"records,omitempty"`
	// Packed holds the records of a large zone instead of Records. Each element is a run
	// of at most PackedRun records, see AppendPacked. Successive configurations share
	// unchanged runs. Pack creates runs.
	Packed []string `json:"-" cbor:"packed,omitempty"`
	// facts describes the runs of Packed in mgmt.
	facts []*Run
	// LastRecord is the highest record ID assigned so far, including deleted records.
	LastRecord uint32 `json:"last_record,omitempty"`
	// Signing is the DNSSEC algorithm. Keys are generated when it is first set, and kept if
	// it is unset.
	Signing SigningAlgorithm `json:"dnssec,omitempty"`
	Keys    []ZoneKey        `json:"keys,omitempty"`
	// Held holds former, longer TTLs of answers that resolvers may still use. KeysHeld
	// does the same for the DNSKEY set.
	Held     HeldTTL `json:"held,omitzero"`
	KeysHeld HeldTTL `json:"keys_held,omitzero"`
	// KeyDays is the age in days at which the next key is generated automatically; 0 means
	// never.
	KeyDays uint16 `json:"key_lifetime,omitempty"`
}

// Record is one resource record of a zone.
type Record struct {
	// ID is the API's record number plus one; 0 means not assigned yet.
	ID uint32 `json:"id,omitempty"`
	// Name is relative to the zone; "@" is the zone itself.
	Name string     `json:"name"`
	Type RecordType `json:"type"`
	// TTL is 0 if the TTL of the zone or service applies. NoTTL is a TTL of zero.
	TTL Seconds `json:"ttl,omitempty"`
	// Data is the value in master file syntax; names in it are relative to the zone unless
	// they end with a dot. For DYNA it is the name of a service.
	Data    string `json:"rdata"`
	Comment string `json:"comment,omitempty"`
}

// RecordType is the type of a record.
type RecordType string

// RecordDYNA is a record whose addresses a service of the farm chooses.
const RecordDYNA RecordType = "DYNA"

// RecordALIAS gives a name the addresses of another name and is allowed at the apex. It is
// never stored: Alias converts it to DYNA.
const RecordALIAS RecordType = "ALIAS"

// RecordTypes lists the types with names, Zevenet's first. Others are written by number,
// e.g. TYPE65534 (RFC 3597).
func RecordTypes() []RecordType {
	return []RecordType{
		"A", "AAAA", "NS", "CNAME", RecordDYNA, "MX", "SRV", "TXT", "PTR", "NAPTR", "SOA", "CAA", "TLSA", "SVCB", "HTTPS", "DS",
		"DNAME", "SSHFP", "HINFO", "RP", "LOC", "URI", "CERT", "OPENPGPKEY", "SMIMEA", "AFSDB", "KX", "DHCID", "EUI48", "EUI64",
		"APL", "CSYNC", "IPSECKEY", "HIP", "LP", "NID", "L32", "L64", "SPF",
	}
}

// FirstDNSBackend is the API's number of the first backend of a gslb service: 1 is the
// primary, 2 the secondary (contract).
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

// NewZone returns a new zone (contract, zones of gslb farms): with a name server whose
// address must still be set.
func NewZone(name string) Zone {
	return Zone{Name: strings.ToLower(name), NameServer: "ns1", Records: []Record{
		{Name: "@", Type: "NS", Data: "ns1"},
		{Name: "ns1", Type: "A", Data: "0.0.0.0"},
	}}
}

// Continents returns the codes of all continents.
func Continents() []string { return []string{"AF", "AN", "AS", "EU", "NA", "OC", "SA"} }

// ParseCoordinates parses a latitude and a longitude in degrees, e.g. "48.14,11.58".
func ParseCoordinates(text string) (latitude, longitude float64, err error) {
	north, east, _ := strings.Cut(text, ",")
	latitude, err = strconv.ParseFloat(strings.TrimSpace(north), 64)
	if err == nil {
		longitude, err = strconv.ParseFloat(strings.TrimSpace(east), 64)
	}
	if err != nil || !(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180) { // also refuses NaN
		return 0, 0, errors.New("it is no latitude and longitude as 48.14,11.58")
	}
	return latitude, longitude, nil
}

// EffectivePort returns the port, or the default.
func (s *DNSService) EffectivePort() uint16 { return cmp.Or(s.Port, DefaultDNSPort) }

// EffectiveAllDown returns AllDown, or the default.
func (s *DNSService) EffectiveAllDown() AllDown { return cmp.Or(s.AllDown, AllDownAll) }

// MostAnswers returns the maximum number of addresses in an answer.
func (s *DNSService) MostAnswers() int {
	if s.Answers == 0 && s.Algorithm != DNSRoundRobin {
		return 1
	}
	if s.Answers == 0 {
		return len(s.Backends)
	}
	return int(s.Answers)
}

// FQDN returns the name of the zone with a trailing dot.
func (z *Zone) FQDN() string { return strings.TrimSuffix(z.Name, ".") + "." }

// Qualify returns a name of the zone with a trailing dot.
func (z *Zone) Qualify(relative string) string {
	if z.Name == RootZone {
		return relative + "."
	}
	return relative + "." + z.Name + "."
}

// RootZone is the name of the DNS root, the only one with a trailing dot.
const RootZone = "."

// Zone returns the zone of that name, or nil.
func (d *GSLB) Zone(name string) *Zone {
	for i := range d.Zones {
		if d.Zones[i].Name == name {
			return &d.Zones[i]
		}
	}
	return nil
}

// Service returns the service of that name, or nil.
func (d *GSLB) Service(name string) *DNSService {
	for i := range d.Services {
		if d.Services[i].Name == name {
			return &d.Services[i]
		}
	}
	return nil
}

// UsedBy returns the zones with a record that uses the service.
func (d *GSLB) UsedBy(service string) (zones []string) {
	for i := range d.Zones {
		for _, r := range d.Zones[i].OfType(RecordDYNA) {
			if r.Data == service {
				zones = append(zones, d.Zones[i].Name)
				break
			}
		}
	}
	return zones
}

// RenameDNSFarm updates the services that refer to a renamed gslb farm.
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

// ChoosesByPlace returns the first service of the farm that uses client locations, or nil.
// With measured it considers only services that use distances.
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

// Zones returns the settings of a gslb farm, or nil.
func (f *Farm) Zones() *GSLB { return f.Global }

// WithZones returns a copy of a gslb farm with other zones. It shares all other settings
// with f.
func (f *Farm) WithZones(zones []Zone) Farm {
	out, global := *f, *f.Global
	global.Zones, out.Global = zones, &global
	return out
}

// Records returns the number of records in the zones of the farm.
func (f *Farm) Records() (n int) {
	if f.Global == nil {
		return 0
	}
	for i := range f.Global.Zones {
		n += f.Global.Zones[i].Len()
	}
	return n
}

// OwnZones copies the farm's lists of zones and keys, so that they are no longer shared. The
// contents of each zone are still shared and may be replaced.
func (f *Farm) OwnZones() {
	own := *f.Global
	own.Zones, own.Keys = slices.Clone(own.Zones), slices.Clone(own.Keys)
	f.Global = &own
}

// Implementation of settings.

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

// EffectiveTLSPort returns the port of encrypted connections, or 0.
func (d *GSLB) EffectiveTLSPort() uint16 {
	if d.TLS == nil {
		return 0
	}
	return cmp.Or(d.TLSPort, DefaultDoTPort)
}

// vports returns the farm's port, and that of encrypted connections.
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

// log always uses JSON: the combined format is for requests.
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

// Implementation of owner.

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
