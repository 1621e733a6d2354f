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
	rule: serviceName.rule,
	get:  func(s *farm.DNSService) Value { return textValue(s.Name) },
	set:  func(s *farm.DNSService, v Value) { s.Name = v.text },
}

var dnsAlgorithm = field[farm.DNSService]{
	rule: rule{name: "algorithm", hints: basic(atBalancing, "Algorithm"), kind: kindText, values: texts(farm.DNSAlgorithms()),
		about: "How addresses are chosen among backends that work: roundrobin (all, beginning with another one each time), prio (the first), weight (by chance), hash (the same for a net of clients), geo (those for the client's net, country or continent), nearest (the fewest kilometres away), fastest (what answers its checks soonest), load (what has the fewest connections for its weight, as its farm tells, or a check of another Sluice: check_sluice)."},
	get: func(s *farm.DNSService) Value { return textValue(string(s.Algorithm)) },
	set: func(s *farm.DNSService, v Value) { s.Algorithm = farm.DNSAlgorithm(v.text) },
}

var dnsServiceFields = []field[farm.DNSService]{
	{
		rule: rule{name: "deftcpport", hints: basic(atChecks, "Port of the built-in check"), kind: kindNumber, min: 1, max: 65535, null: true, unset: numberValue(int64(farm.DefaultDNSPort)),
			about: "Port on which backends are asked by TCP whether they work, where no health check is named."},
		get: func(s *farm.DNSService) Value { return numberValue(int64(s.EffectivePort())) },
		set: func(s *farm.DNSService, v Value) { s.Port = orZero(uint16(v.number), farm.DefaultDNSPort) },
	},
	{
		rule: rule{name: "ttl", hints: basic(atAnswers, "Time to live").in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, null: true, unset: numberValue(int64(farm.DefaultDNSTTL)),
			about: "Seconds an answer may be kept, 0: not at all; a record's own ttl holds if it is shorter."},
		get: func(s *farm.DNSService) Value { return numberValue(int64(s.EffectiveTTL())) },
		set: func(s *farm.DNSService, v Value) { s.TTL = storedTTL(v, farm.DefaultDNSTTL) },
	},
	{
		rule: rule{name: "degraded_ttl", hints: advanced(atAnswers, "Time to live while degraded").in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, null: true,
			about: "Seconds an answer may be kept while a backend is down; 0 for ttl."},
		get: func(s *farm.DNSService) Value { return numberValue(int64(s.DegradedTTL)) },
		set: func(s *farm.DNSService, v Value) { s.DegradedTTL = farm.Seconds(v.number) },
	},
	{
		rule: rule{name: "answers", hints: basic(atAnswers, "Addresses per answer"), kind: kindNumber, min: 0, max: 64, null: true, about: "Addresses an answer has at most; 0 for all that work with roundrobin, and one otherwise."},
		get:  func(s *farm.DNSService) Value { return numberValue(int64(s.Answers)) },
		set:  func(s *farm.DNSService, v Value) { s.Answers = uint8(v.number) },
	},
	{
		rule: rule{name: "all_down", hints: basic(atAnswers, "When all are down"), kind: kindText, null: true, values: texts(farm.AllDowns()), unset: textValue(string(farm.AllDownAll)),
			about: "What is answered when no backend works: all (as if all did), none (no address), servfail (a failure, so that resolvers ask another server), fallback (the addresses of fallback)."},
		get: func(s *farm.DNSService) Value { return textValue(string(s.EffectiveAllDown())) },
		set: func(s *farm.DNSService, v Value) { s.AllDown = orZero(farm.AllDown(v.text), farm.AllDownAll) },
	},
	{
		rule: addressRule("fallback", advanced(atAnswers, "Fallback addresses"), "Addresses that are answered with all_down fallback.", 64),
		get:  func(s *farm.DNSService) Value { return listValue(addressTexts(s.Fallback)) },
		set:  func(s *farm.DNSService, v Value) { s.Fallback = addressesOf(v.list) },
	},
	{
		rule: rule{name: "answer_unprobed", hints: advanced(atChecks, "Answer before the first check"), kind: kindBool, about: "Whether answers have backends whose state is not known: before the first result of their check, or because it cannot ask them."},
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
	rule: rule{name: "ip", hints: basic(atAddress, "Address"), kind: kindText, format: "ip or host name", maxLen: 255, check: checkHost, must: "an address or a resolvable host name", about: "Address that is answered, or a host name whose addresses are."},
	get:  backendHost.get, set: backendHost.set,
}

// dnsResolve is the resolve mode of a backend. SRV is excluded, because responses contain
// no ports.
var dnsResolve = func() field[farm.Backend] {
	f := backendResolve
	f.values = slices.DeleteFunc(farm.ResolveWords(), func(word string) bool { return word == string(farm.ResolveService) })
	f.about = "What a host name stands for: one of its addresses (first), or all of them, each of which is checked (all)."
	return f
}()

var dnsBackendFields = slices.Concat(unsetAsNull(backendWeight, backendPriority, backendAlias), []field[farm.Backend]{
	dnsResolve,
	{
		rule: rule{name: "nets", hints: basic(atBalancing, "Nets of clients"), kind: kindList, words: true, format: "ip or ip/bits", null: true, max: MaxTrusted, maxLen: 64, check: checkNetwork, canon: canonNetwork,
			must: "an address or network", musts: "a list of addresses and networks", about: "Nets of clients the backend is for with algorithm geo; they come before countries and continents. Without any of the three it is for those of no other."},
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
	codeList("countries", "Countries of clients", "Countries of clients (ISO 3166-1) the backend is for with algorithm geo, by the GeoIP database.", "DE", maxCountries, checkCountry, func(b *farm.Backend) *[]string { return &b.Countries }),
	codeList("continents", "Continents of clients", "Continents of clients the backend is for with algorithm geo, where no backend is for their country: "+strings.Join(farm.Continents(), ", ")+".", "EU", len(farm.Continents()), checkContinent, func(b *farm.Backend) *[]string { return &b.Continents }),
	{
		rule: rule{name: "coordinates", hints: advanced(atBalancing, "Coordinates"), kind: kindText, format: "latitude,longitude", blank: true, null: true, maxLen: 40, check: checkCoordinates, canon: canonCoordinates,
			must: "a latitude and a longitude in degrees, as 48.14,11.58", about: "Where the backend is, for algorithm nearest; empty for where the GeoIP database says its address is."},
		get: func(b *farm.Backend) Value { return textValue(b.Coordinates) },
		set: func(b *farm.Backend, v Value) { b.Coordinates = v.text },
	},
	{
		rule: rule{name: "hash_key", hints: advanced(atBalancing, "Hash key"), kind: kindText, blank: true, null: true, maxLen: 64, check: checkHashKey,
			must: "at most 64 printable characters", about: "Name the backend is ranked by with algorithm hash; empty for its address. Appliances on which the backend has other addresses agree by the same key, and a new address keeps its clients."},
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
		if !DNSBackendDocument.verify(at, b, g.Farm, yield) {
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
