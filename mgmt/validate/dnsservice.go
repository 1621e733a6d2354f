package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// The bodies about a service of a gslb farm, and about one of its backends.
var (
	DNSServiceCreate   = Table[farm.DNSService]{fields: slices.Concat([]field[farm.DNSService]{require(named(dnsServiceName, "id")), require(dnsAlgorithm)}, dnsServiceFields)}
	DNSServiceUpdate   = Table[farm.DNSService]{fields: slices.Concat([]field[farm.DNSService]{dnsAlgorithm}, dnsServiceFields)}
	DNSServiceDocument = Table[farm.DNSService]{fields: slices.Concat([]field[farm.DNSService]{require(dnsServiceName), require(dnsAlgorithm)}, dnsServiceFields)}

	DNSBackendCreate   = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{require(dnsAddress)}, dnsBackendFields)}
	DNSBackendUpdate   = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{dnsAddress}, dnsBackendFields)}
	DNSBackendDocument = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{require(dnsAddress)}, dnsBackendFields, []field[farm.Backend]{backendMaintenance})}
	DNSBackendAnswer   = Table[farm.Backend]{fields: dnsBackendFields}
)

var dnsServiceName = field[farm.DNSService]{
	rule: serviceName.rule,
	get:  func(s *farm.DNSService) Value { return textValue(s.Name) },
	set:  func(s *farm.DNSService, v Value) { s.Name = v.text },
}

var dnsAlgorithm = field[farm.DNSService]{
	rule: rule{name: "algorithm", hints: basic(atBalancing, "Algorithm"), kind: kindText, values: texts(farm.DNSAlgorithms()),
		about: "How addresses are chosen among backends that work: roundrobin (all, beginning with another one each time), prio (the first), weight (by chance), hash (the same for a net of clients), geo (those whose nets hold the client), fastest (what answers its checks soonest)."},
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
	dnsSeconds("ttl", basic(atAnswers, "Time to live"), "Seconds an answer may be kept; a record's own ttl holds if it is shorter.", farm.DefaultDNSTTL, func(s *farm.DNSService) *farm.Seconds { return &s.TTL }),
	dnsSeconds("degraded_ttl", advanced(atAnswers, "Time to live while degraded"), "Seconds an answer may be kept while a backend is down; unset for ttl.", 0, func(s *farm.DNSService) *farm.Seconds { return &s.DegradedTTL }),
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
		rule: rule{name: "answer_unprobed", hints: advanced(atChecks, "Answer before the first check"), kind: kindBool, about: "Whether backends are answered before their first check has a result."},
		get:  func(s *farm.DNSService) Value { return boolValue(s.Unprobed) },
		set:  func(s *farm.DNSService, v Value) { s.Unprobed = v.truth },
	},
	{
		rule: linkRule,
		get:  func(s *farm.DNSService) Value { return textValue(s.Check) },
		set:  func(s *farm.DNSService, v Value) { s.Check = v.text },
	},
}

func dnsSeconds(name string, h hints, about string, unset farm.Seconds, at func(*farm.DNSService) *farm.Seconds) field[farm.DNSService] {
	return field[farm.DNSService]{
		rule: rule{name: name, hints: h.in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, null: true, unset: numberValue(int64(unset)), about: about},
		get:  func(s *farm.DNSService) Value { return numberValue(int64(cmp.Or(*at(s), unset))) },
		set:  func(s *farm.DNSService, v Value) { *at(s) = orZero(farm.Seconds(v.number), unset) },
	}
}

// dnsAddress is that of a backend: a name would be one more thing to look up.
var dnsAddress = field[farm.Backend]{
	rule: rule{name: "ip", hints: basic(atAddress, "Address"), kind: kindText, format: "ip", maxLen: 64, check: checkVIP, must: "an IPv4 or IPv6 address", about: "Address that is answered."},
	get:  backendHost.get, set: backendHost.set,
}

var dnsBackendFields = append(unsetAsNull(backendWeight, backendPriority, backendAlias), field[farm.Backend]{
	rule: rule{name: "nets", hints: basic(atBalancing, "Nets of clients"), kind: kindList, words: true, format: "ip or ip/bits", null: true, max: MaxTrusted, maxLen: 64, check: checkNetwork, canon: canonNetwork,
		must: "an address or network", musts: "a list of addresses and networks", about: "Nets of clients the backend is for with algorithm geo; without any it is for those of no other."},
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
})

// MaxDNSBackends is how many backends a service of a gslb farm may have: all are looked
// at for every answer.
const MaxDNSBackends = 64

// checkDNSServices holds the rules of the services of a gslb farm.
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
	if n := len(g.Backends()); n > MaxDNSBackends && !yield(Error{path, "backends", fmt.Sprintf("backends: at most %d are possible in a service of a gslb farm, got %d", MaxDNSBackends, n)}) {
		return false
	}
	for i := range g.Backends() {
		b, at := &g.Backends()[i], backendPath(path, g.Number(i))
		if !DNSBackendDocument.verify(at, b, g.Farm, yield) {
			return false
		}
		if addr, err := netip.ParseAddr(b.Host); err == nil {
			if problem := checkBackendAddr(addr, local); problem != "" && !yield(Error{at, "ip", fmt.Sprintf("ip must be the address of one server, got %s: %s", b.Host, problem)}) {
				return false
			}
		}
		if first, twice := seen[b.Host]; twice && !yield(Error{at, "ip", fmt.Sprintf("ip must be unique in the service, backend %d is %s already", first, b.Host)}) {
			return false
		}
		seen[b.Host] = g.Number(i)
	}
	return true
}
