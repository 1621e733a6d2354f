package gslbfarm

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Bodies about a service of a gslb farm, and about one of its backends.
var (
	ServiceCreate = field.Table[farm.DNSService]{Fields: slices.Concat([]field.Field[farm.DNSService]{field.Require(field.Named(serviceName, "id")), field.Require(algorithm)}, serviceFields)}
	ServiceUpdate = field.Table[farm.DNSService]{Fields: slices.Concat([]field.Field[farm.DNSService]{algorithm},
		serviceFields)}
	ServiceDocument = field.Table[farm.DNSService]{Fields: slices.Concat([]field.Field[farm.DNSService]{field.Require(serviceName),
		field.Require(algorithm)}, serviceFields)}

	BackendCreate = field.Table[farm.Backend]{Fields: slices.Concat([]field.Field[farm.Backend]{field.Require(address)},
		backendFields)}
	BackendUpdate = field.Table[farm.Backend]{Fields: slices.Concat([]field.Field[farm.Backend]{address},
		backendFields)}
	BackendDocument = field.Table[farm.Backend]{Fields: slices.Concat([]field.Field[farm.Backend]{field.Require(address)},
		backendFields, []field.Field[farm.Backend]{profile.BackendMaintenance})}
	BackendAnswer = field.Table[farm.Backend]{Fields: field.Without(backendFields, resolve.Name)}
)

var serviceName = field.Field[farm.DNSService]{
	Rule: profile.ServiceNameRule,
	Get:  func(s *farm.DNSService) field.Value { return field.TextValue(s.Name) },
	Set:  func(s *farm.DNSService, v field.Value) { s.Name = v.Text() },
}

var algorithm = field.Field[farm.DNSService]{
	Rule: field.Rule{Name: "algorithm", Hints: field.Basic(field.AtBalancing, "Algorithm"), Kind: field.Text, Values: field.Texts(farm.DNSAlgorithms()),
		About: "Selection of addresses among healthy backends: roundrobin (all, rotated), prio (the first), weight (weighted random), hash (stable per client network), geo (by client network, country or continent), nearest (shortest distance), fastest (fastest health check), load (fewest connections relative to weight, reported by its farm or by check_sluice on another Sluice)."},
	Get: func(s *farm.DNSService) field.Value { return field.TextValue(string(s.Algorithm)) },
	Set: func(s *farm.DNSService, v field.Value) { s.Algorithm = farm.DNSAlgorithm(v.Text()) },
}

var serviceFields = []field.Field[farm.DNSService]{
	{
		Rule: field.Rule{Name: "deftcpport", Hints: field.Basic(field.AtChecks, "Built-in check port"), Kind: field.Number, Min: 1, Max: 65535, Null: true, Unset: field.NumberValue(int64(farm.DefaultDNSPort)),
			About: "TCP port of the built-in check, used if no health check is configured."},
		Get: func(s *farm.DNSService) field.Value { return field.NumberValue(int64(s.EffectivePort())) },
		Set: func(s *farm.DNSService, v field.Value) {
			s.Port = field.OrZero(uint16(v.Number()), farm.DefaultDNSPort)
		},
	},
	{
		Rule: field.Rule{Name: "ttl", Hints: field.Basic(field.AtAnswers, "TTL").In(field.Seconds), Kind: field.Number, Min: 0, Max: maxRecordTTL, Null: true, Unset: field.NumberValue(int64(farm.DefaultDNSTTL)),
			About: "TTL of responses, in seconds; 0 disables caching. A shorter TTL of the record itself applies instead."},
		Get: func(s *farm.DNSService) field.Value { return field.NumberValue(int64(s.EffectiveTTL())) },
		Set: func(s *farm.DNSService, v field.Value) { s.TTL = storedTTL(v, farm.DefaultDNSTTL) },
	},
	{
		Rule: field.Rule{Name: "degraded_ttl", Hints: field.Advanced(field.AtAnswers, "Degraded TTL").In(field.Seconds), Kind: field.Number, Min: 0, Max: maxRecordTTL, Null: true,
			About: "TTL of responses while a backend is down, in seconds; 0 uses ttl."},
		Get: func(s *farm.DNSService) field.Value { return field.NumberValue(int64(s.DegradedTTL)) },
		Set: func(s *farm.DNSService, v field.Value) { s.DegradedTTL = farm.Seconds(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "answers", Hints: field.Basic(field.AtAnswers, "Addresses per response"), Kind: field.Number, Min: 0, Max: 64, Null: true, About: "Maximum number of addresses per response; 0 returns all healthy ones with roundrobin, otherwise one."},
		Get:  func(s *farm.DNSService) field.Value { return field.NumberValue(int64(s.Answers)) },
		Set:  func(s *farm.DNSService, v field.Value) { s.Answers = uint8(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "all_down", Hints: field.Basic(field.AtAnswers, "All-down policy"), Kind: field.Text, Null: true, Values: field.Texts(farm.AllDowns()), Unset: field.TextValue(string(farm.AllDownAll)),
			About: "Response when no backend is healthy: all (all addresses), none (no address), servfail (SERVFAIL, so that resolvers try another server), fallback (the fallback addresses)."},
		Get: func(s *farm.DNSService) field.Value { return field.TextValue(string(s.EffectiveAllDown())) },
		Set: func(s *farm.DNSService, v field.Value) {
			s.AllDown = field.OrZero(farm.AllDown(v.Text()), farm.AllDownAll)
		},
	},
	{
		Rule: addressRule("fallback", field.Advanced(field.AtAnswers, "Fallback addresses"), "Addresses to return with all_down fallback.", 64),
		Get:  func(s *farm.DNSService) field.Value { return field.ListValue(addressTexts(s.Fallback)) },
		Set:  func(s *farm.DNSService, v field.Value) { s.Fallback = addressesOf(v.List()) },
	},
	{
		Rule: field.Rule{Name: "answer_unprobed", Hints: field.Advanced(field.AtChecks, "Include unchecked backends"), Kind: field.Bool, About: "Include backends of unknown state in responses: before their first check result, or if the check cannot run."},
		Get:  func(s *farm.DNSService) field.Value { return field.BoolValue(s.Unprobed) },
		Set:  func(s *farm.DNSService, v field.Value) { s.Unprobed = v.Bool() },
	},
	{
		Rule: check.LinkRule,
		Get:  func(s *farm.DNSService) field.Value { return field.TextValue(s.Check) },
		Set:  func(s *farm.DNSService, v field.Value) { s.Check = v.Text() },
	},
}

// address is the address of a backend.
var address = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "ip", Hints: field.Basic(field.AtAddress, "Address"), Kind: field.Text, Format: "ip or host name", MaxLen: 255, Check: format.Host, Must: "an address or a resolvable host name", About: "Address to return, or a host name whose addresses are returned."},
	Get:  profile.BackendHost.Get, Set: profile.BackendHost.Set,
}

// resolve is the resolve mode of a backend. SRV is excluded, because responses contain
// no ports.
var resolve = func() field.Field[farm.Backend] {
	f := profile.BackendResolve
	f.Values = slices.DeleteFunc(farm.ResolveWords(), func(word string) bool {
		return word == string(farm.ResolveService)
	})
	f.About = "Resolution of a host name: one of its addresses (first), or all addresses, each checked separately (all)."
	return f
}()

var backendFields = slices.Concat(field.UnsetAsNull(profile.BackendWeight, profile.BackendPriority,
	profile.BackendAlias),
	[]field.Field[farm.Backend]{
		resolve,
		{
			Rule: field.Rule{Name: "nets", Hints: field.Basic(field.AtBalancing, "Client networks"), Kind: field.List, Words: true, Format: "ip or ip/bits", Null: true, Max: profile.MaxTrusted, MaxLen: 64, Check: format.Network, Canon: format.CanonNetwork,
				Must: "an address or network", MustList: "a list of addresses and networks", About: "Networks whose clients get this backend with algorithm geo; they take precedence over countries and continents. A backend without any of the three serves clients that no other backend matches."},
			Get: func(b *farm.Backend) field.Value {
				var out []string
				for _, p := range b.Nets {
					out = append(out, format.NetworkText(p))
				}
				return field.ListValue(out)
			},
			Set: func(b *farm.Backend, v field.Value) {
				b.Nets = nil
				for _, text := range v.List() {
					if p, err := format.ParseNetwork(text); err == nil {
						b.Nets = append(b.Nets, p)
					}
				}
			},
		},
		codeList("countries", "Client countries", "Countries (ISO 3166-1) whose clients get this backend with algorithm geo, according to the GeoIP database.", "DE", maxCountries, checkCountry, func(b *farm.Backend) *[]string { return &b.Countries }),
		codeList("continents", "Client continents", "Continents whose clients get this backend with algorithm geo if no backend serves their country: "+strings.Join(farm.Continents(), ", ")+".", "EU", len(farm.Continents()), checkContinent, func(b *farm.Backend) *[]string { return &b.Continents }),
		{
			Rule: field.Rule{Name: "coordinates", Hints: field.Advanced(field.AtBalancing, "Coordinates"), Kind: field.Text, Format: "latitude,longitude", Blank: true, Null: true, MaxLen: 40, Check: checkCoordinates, Canon: canonCoordinates,
				Must: "a latitude and a longitude in degrees, as 48.14,11.58", About: "Coordinates of the backend for algorithm nearest; empty uses the location of its address in the GeoIP database."},
			Get: func(b *farm.Backend) field.Value { return field.TextValue(b.Coordinates) },
			Set: func(b *farm.Backend, v field.Value) { b.Coordinates = v.Text() },
		},
		{
			Rule: field.Rule{Name: "hash_key", Hints: field.Advanced(field.AtBalancing, "Hash key"), Kind: field.Text, Blank: true, Null: true, MaxLen: 64, Check: checkHashKey,
				Must: "at most 64 printable characters", About: "Key that ranks the backend with algorithm hash; empty uses its address. The same key makes appliances agree although the backend's address differs, and keeps its clients when the address changes."},
			Get: func(b *farm.Backend) field.Value { return field.TextValue(b.HashKey) },
			Set: func(b *farm.Backend, v field.Value) { b.HashKey = v.Text() },
		},
	})

// maxCountries bounds a list; about 250 countries exist.
const maxCountries = 260

// codeList returns the field of a list of two-letter codes.
func codeList(name, label, about, example string, most int, check func(string) string,
	at func(*farm.Backend) *[]string) field.Field[farm.Backend] {
	return field.Field[farm.Backend]{
		Rule: field.Rule{Name: name, Hints: field.Basic(field.AtBalancing, label), Kind: field.List, Words: true, Format: "two letters, as " + example, Null: true, Max: int64(most), MaxLen: 2, Check: check, Canon: strings.ToUpper,
			Must: "a code of two letters, as " + example, MustList: "a list of codes of two letters, as " + example, About: about},
		Get: func(b *farm.Backend) field.Value { return field.ListValue(*at(b)) },
		Set: func(b *farm.Backend, v field.Value) { *at(b) = slices.Clone(v.List()) },
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

// MaxBackends bounds the backends of a gslb service, and per IP version the addresses of
// their names. Every query considers all of them.
const MaxBackends = 64

// checkServices checks the rules of the services of a gslb farm.
func checkServices(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	if n := len(f.Global.Services); n > profile.MaxServices && !yield(field.Error{Path: profile.FarmPath(f.Name), Field: "services", Message: fmt.Sprintf("services: at most %d are possible in a farm, got %d", profile.MaxServices, n)}) {
		return false
	}
	names := map[string]bool{}
	for i, g := range f.Groups() {
		s := &f.Global.Services[i]
		path := profile.ServicePath(f.Name, s.Name)
		if names[s.Name] && !yield(field.Error{Path: path, Field: "name", Message: fmt.Sprintf("name must be unique in the farm, %s exists already", field.Show(s.Name))}) {
			return false
		}
		names[s.Name] = true
		if !ServiceDocument.Verify(path, s, nil, yield) || !checkBackends(path, g, local, yield) {
			return false
		}
	}
	return true
}

func checkBackends(path string, g farm.Group, local []netip.Prefix, yield func(field.Error) bool) bool {
	seen := map[string]int{}
	if n := len(g.Configured()); n > MaxBackends && !yield(field.Error{Path: path, Field: "backends", Message: fmt.Sprintf("backends: at most %d are possible in a service of a gslb farm, got %d", MaxBackends, n)}) {
		return false
	}
	for i := range g.Backends() {
		b, at := &g.Backends()[i], profile.BackendBelow(path, g.Number(i))
		if !BackendDocument.Verify(at, b, nil, yield) {
			return false
		}
		if _, problem := profile.Reach(at, g.Farm, b, local); problem != nil && !yield(*problem) {
			return false
		}
		if b.Of != 0 {
			continue // created from another one's name
		}
		if first, twice := seen[b.Host]; twice && !yield(field.Error{Path: at, Field: "ip", Message: fmt.Sprintf("ip must be unique in the service, backend %d is %s already", first, b.Host)}) {
			return false
		}
		seen[b.Host] = g.Number(i)
	}
	return true
}
