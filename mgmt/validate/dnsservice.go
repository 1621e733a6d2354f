package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluicelb/sluice/core/farm"
)

// Bodies about a service of a gslb farm, and about one of its backends.
var (
	DNSServiceCreate   = Table[farm.DNSService]{fields: slices.Concat([]field[farm.DNSService]{require(named(dnsServiceName, "id")), require(dnsAlgorithm)}, dnsServiceFields)}
	DNSServiceUpdate   = Table[farm.DNSService]{fields: slices.Concat([]field[farm.DNSService]{dnsAlgorithm}, dnsServiceFields)}
	DNSServiceDocument = Table[farm.DNSService]{fields: slices.Concat([]field[farm.DNSService]{require(dnsServiceName), require(dnsAlgorithm)}, dnsServiceFields)}

	DNSBackendCreate   = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{require(dnsAddress)}, dnsBackendFields)}
	DNSBackendUpdate   = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{dnsAddress}, dnsBackendFields)}
	DNSBackendDocument = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{require(dnsAddress)}, dnsBackendFields, []field[farm.Backend]{backendMaintenance})}
	DNSBackendAnswer   = Table[farm.Backend]{fields: without(dnsBackendFields, dnsResolve.name)}
)

var dnsServiceName = field[farm.DNSService]{
	rule: serviceNameRule,
	get:  func(s *farm.DNSService) Value { return textValue(s.Name) },
	set:  func(s *farm.DNSService, v Value) { s.Name = v.text },
}

var dnsAlgorithm = field[farm.DNSService]{
	rule: rule{name: "algorithm", hints: basic(atBalancing, "Algorithm"), kind: kindText, values: texts(farm.DNSAlgorithms()),
		about: "Selection of addresses among healthy backends: roundrobin (all, rotated), prio (the first), weight (weighted random), hash (stable per client network), geo (by client network, country or continent), nearest (shortest distance), fastest (fastest health check), load (fewest connections relative to weight, reported by its farm or by check_sluice on another Sluice)."},
	get: func(s *farm.DNSService) Value { return textValue(string(s.Algorithm)) },
	set: func(s *farm.DNSService, v Value) { s.Algorithm = farm.DNSAlgorithm(v.text) },
}

var dnsServiceFields = []field[farm.DNSService]{
	{
		rule: rule{name: "deftcpport", hints: basic(atChecks, "Built-in check port"), kind: kindNumber, min: 1, max: 65535, null: true, unset: numberValue(int64(farm.DefaultDNSPort)),
			about: "TCP port of the built-in check, used if no health check is configured."},
		get: func(s *farm.DNSService) Value { return numberValue(int64(s.EffectivePort())) },
		set: func(s *farm.DNSService, v Value) { s.Port = orZero(uint16(v.number), farm.DefaultDNSPort) },
	},
	{
		rule: rule{name: "ttl", hints: basic(atAnswers, "TTL").in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, null: true, unset: numberValue(int64(farm.DefaultDNSTTL)),
			about: "TTL of responses, in seconds; 0 disables caching. A shorter TTL of the record itself applies instead."},
		get: func(s *farm.DNSService) Value { return numberValue(int64(s.EffectiveTTL())) },
		set: func(s *farm.DNSService, v Value) { s.TTL = storedTTL(v, farm.DefaultDNSTTL) },
	},
	{
		rule: rule{name: "degraded_ttl", hints: advanced(atAnswers, "Degraded TTL").in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, null: true,
			about: "TTL of responses while a backend is down, in seconds; 0 uses ttl."},
		get: func(s *farm.DNSService) Value { return numberValue(int64(s.DegradedTTL)) },
		set: func(s *farm.DNSService, v Value) { s.DegradedTTL = farm.Seconds(v.number) },
	},
	{
		rule: rule{name: "answers", hints: basic(atAnswers, "Addresses per response"), kind: kindNumber, min: 0, max: 64, null: true, about: "Maximum number of addresses per response; 0 returns all healthy ones with roundrobin, otherwise one."},
		get:  func(s *farm.DNSService) Value { return numberValue(int64(s.Answers)) },
		set:  func(s *farm.DNSService, v Value) { s.Answers = uint8(v.number) },
	},
	{
		rule: rule{name: "all_down", hints: basic(atAnswers, "All-down policy"), kind: kindText, null: true, values: texts(farm.AllDowns()), unset: textValue(string(farm.AllDownAll)),
			about: "Response when no backend is healthy: all (all addresses), none (no address), servfail (SERVFAIL, so that resolvers try another server), fallback (the fallback addresses)."},
		get: func(s *farm.DNSService) Value { return textValue(string(s.EffectiveAllDown())) },
		set: func(s *farm.DNSService, v Value) { s.AllDown = orZero(farm.AllDown(v.text), farm.AllDownAll) },
	},
	{
		rule: addressRule("fallback", advanced(atAnswers, "Fallback addresses"), "Addresses to return with all_down fallback.", 64),
		get:  func(s *farm.DNSService) Value { return listValue(addressTexts(s.Fallback)) },
		set:  func(s *farm.DNSService, v Value) { s.Fallback = addressesOf(v.list) },
	},
	{
		rule: rule{name: "answer_unprobed", hints: advanced(atChecks, "Include unchecked backends"), kind: kindBool, about: "Include backends of unknown state in responses: before their first check result, or if the check cannot run."},
		get:  func(s *farm.DNSService) Value { return boolValue(s.Unprobed) },
		set:  func(s *farm.DNSService, v Value) { s.Unprobed = v.truth },
	},
	{
		rule: linkRule,
		get:  func(s *farm.DNSService) Value { return textValue(s.Check) },
		set:  func(s *farm.DNSService, v Value) { s.Check = v.text },
	},
}

// dnsAddress is the address of a backend.
var dnsAddress = field[farm.Backend]{
	rule: rule{name: "ip", hints: basic(atAddress, "Address"), kind: kindText, format: "ip or host name", maxLen: 255, check: checkHost, must: "an address or a resolvable host name", about: "Address to return, or a host name whose addresses are returned."},
	get:  backendHost.get, set: backendHost.set,
}

// dnsResolve is the resolve mode of a backend. SRV is excluded, because responses contain
// no ports.
var dnsResolve = func() field[farm.Backend] {
	f := backendResolve
	f.values = slices.DeleteFunc(farm.ResolveWords(), func(word string) bool { return word == string(farm.ResolveService) })
	f.about = "Resolution of a host name: one of its addresses (first), or all addresses, each checked separately (all)."
	return f
}()

var dnsBackendFields = slices.Concat(unsetAsNull(backendWeight, backendPriority, backendAlias), []field[farm.Backend]{
	dnsResolve,
	{
		rule: rule{name: "nets", hints: basic(atBalancing, "Client networks"), kind: kindList, words: true, format: "ip or ip/bits", null: true, max: MaxTrusted, maxLen: 64, check: checkNetwork, canon: canonNetwork,
			must: "an address or network", musts: "a list of addresses and networks", about: "Networks whose clients get this backend with algorithm geo; they take precedence over countries and continents. A backend without any of the three serves clients that no other backend matches."},
		get: func(b *farm.Backend) Value {
			var out []string
			for _, p := range b.Nets {
				out = append(out, NetworkText(p))
			}
			return listValue(out)
		},
		set: func(b *farm.Backend, v Value) {
			b.Nets = nil
			for _, text := range v.list {
				if p, err := parseNetwork(text); err == nil {
					b.Nets = append(b.Nets, p)
				}
			}
		},
	},
	codeList("countries", "Client countries", "Countries (ISO 3166-1) whose clients get this backend with algorithm geo, according to the GeoIP database.", "DE", maxCountries, checkCountry, func(b *farm.Backend) *[]string { return &b.Countries }),
	codeList("continents", "Client continents", "Continents whose clients get this backend with algorithm geo if no backend serves their country: "+strings.Join(farm.Continents(), ", ")+".", "EU", len(farm.Continents()), checkContinent, func(b *farm.Backend) *[]string { return &b.Continents }),
	{
		rule: rule{name: "coordinates", hints: advanced(atBalancing, "Coordinates"), kind: kindText, format: "latitude,longitude", blank: true, null: true, maxLen: 40, check: checkCoordinates, canon: canonCoordinates,
			must: "a latitude and a longitude in degrees, as 48.14,11.58", about: "Coordinates of the backend for algorithm nearest; empty uses the location of its address in the GeoIP database."},
		get: func(b *farm.Backend) Value { return textValue(b.Coordinates) },
		set: func(b *farm.Backend, v Value) { b.Coordinates = v.text },
	},
	{
		rule: rule{name: "hash_key", hints: advanced(atBalancing, "Hash key"), kind: kindText, blank: true, null: true, maxLen: 64, check: checkHashKey,
			must: "at most 64 printable characters", about: "Key that ranks the backend with algorithm hash; empty uses its address. The same key makes appliances agree although the backend's address differs, and keeps its clients when the address changes."},
		get: func(b *farm.Backend) Value { return textValue(b.HashKey) },
		set: func(b *farm.Backend, v Value) { b.HashKey = v.text },
	},
})

// maxCountries bounds a list; about 250 countries exist.
const maxCountries = 260

// codeList returns the field of a list of two-letter codes.
func codeList(name, label, about, example string, most int, check func(string) string, at func(*farm.Backend) *[]string) field[farm.Backend] {
	return field[farm.Backend]{
		rule: rule{name: name, hints: basic(atBalancing, label), kind: kindList, words: true, format: "two letters, as " + example, null: true, max: int64(most), maxLen: 2, check: check, canon: strings.ToUpper,
			must: "a code of two letters, as " + example, musts: "a list of codes of two letters, as " + example, about: about},
		get: func(b *farm.Backend) Value { return listValue(*at(b)) },
		set: func(b *farm.Backend, v Value) { *at(b) = slices.Clone(v.list) },
	}
}

func checkCountry(s string) string {
	if len(s) == 2 && strings.Trim(strings.ToUpper(s), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return ""
	}
	return "it is no code of a country, as DE"
}

func checkContinent(s string) string {
	if slices.Contains(farm.Continents(), strings.ToUpper(s)) {
		return ""
	}
	return "it is none of " + strings.Join(farm.Continents(), ", ")
}

func checkCoordinates(s string) string {
	if _, _, err := farm.ParseCoordinates(s); err != nil {
		return err.Error()
	}
	return ""
}

func checkHashKey(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "it has a character that cannot be printed"
	}
	return ""
}

func canonCoordinates(s string) string {
	latitude, longitude, err := farm.ParseCoordinates(s)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(latitude, 'f', -1, 64) + "," + strconv.FormatFloat(longitude, 'f', -1, 64)
}

// MaxDNSBackends bounds the backends of a gslb service, and per IP version the addresses of
// their names. Every query considers all of them.
const MaxDNSBackends = 64

// checkDNSServices checks the rules of the services of a gslb farm.
func checkDNSServices(f *farm.Farm, local []netip.Prefix, yield func(Error) bool) bool {
	if n := len(f.Global.Services); n > MaxServices && !yield(Error{FarmPath(f.Name), "services", fmt.Sprintf("services: at most %d are possible in a farm, got %d", MaxServices, n)}) {
		return false
	}
	names := map[string]bool{}
	for i, g := range f.Groups() {
		s := &f.Global.Services[i]
		path := ServicePath(f.Name, s.Name)
		if names[s.Name] && !yield(Error{path, "name", fmt.Sprintf("name must be unique in the farm, %s exists already", show(s.Name))}) {
			return false
		}
		names[s.Name] = true
		if !DNSServiceDocument.verify(path, s, nil, yield) || !checkDNSBackends(path, g, local, yield) {
			return false
		}
	}
	return true
}

func checkDNSBackends(path string, g farm.Group, local []netip.Prefix, yield func(Error) bool) bool {
	seen := map[string]int{}
	if n := len(g.Configured()); n > MaxDNSBackends && !yield(Error{path, "backends", fmt.Sprintf("backends: at most %d are possible in a service of a gslb farm, got %d", MaxDNSBackends, n)}) {
		return false
	}
	for i := range g.Backends() {
		b, at := &g.Backends()[i], backendPath(path, g.Number(i))
		if !DNSBackendDocument.verify(at, b, nil, yield) {
			return false
		}
		if _, problem := checkReach(at, g.Farm, b, local); problem != nil && !yield(*problem) {
			return false
		}
		if b.Of != 0 {
			continue // created from another one's name
		}
		if first, twice := seen[b.Host]; twice && !yield(Error{at, "ip", fmt.Sprintf("ip must be unique in the service, backend %d is %s already", first, b.Host)}) {
			return false
		}
		seen[b.Host] = g.Number(i)
	}
	return true
}
