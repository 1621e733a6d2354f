package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// Bodies about a gslb farm. All profiles share FarmAction.
var (
	// DNSFarmCreate is the body of POST /farms; see FarmCreate.
	DNSFarmCreate = Table[farm.Farm]{fields: slices.Concat(newFarm, noteFields, dnsFields)}
	// DNSFarmUpdate is the body of PUT /farms/F; setting newfarmname renames.
	DNSFarmUpdate = Table[farm.Farm]{fields: slices.Concat([]field[farm.Farm]{named(farmName, "newfarmname"), farmVIP, farmVPort}, noteFields, dnsFields)}
	// DNSFarmDocument is a farm in a document, without services and zones.
	DNSFarmDocument = Table[farm.Farm]{fields: slices.Concat([]field[farm.Farm]{
		require(farmName), require(farmProfile), require(farmVIP), require(farmVPort), farmStopped}, noteFields, dnsFields)}
	// DNSFarmAnswer holds the fields in responses.
	DNSFarmAnswer = Table[farm.Farm]{fields: slices.Concat(noteFields, dnsFields)}
)

// Limits of gslb farms.
const (
	maxRate = 10_000_000
	maxNSID = 64
	// maxTransferKeys bounds the number of TSIG keys of a farm.
	maxTransferKeys = 16
)

// dnsFields are the fields of a gslb farm except its address.
var dnsFields = slices.Concat(dnsSettings, dnsLogFields)

// dnsSettings are those fields without the query log.
var dnsSettings = []field[farm.Farm]{
	dnsText("server_version", basic(atAnswers, "Server version"), "Response to version.bind queries; empty refuses them.", 255, func(g *farm.GSLB) *string { return &g.ServerVersion }),
	dnsText("nsid", advanced(atAnswers, "Server identity"), "Server identity returned for NSID and id.server; empty disables it.", maxNSID, func(g *farm.GSLB) *string { return &g.NSID }),
	boundIn(dnsPart, "query_rate", basic(atLimits, "Query rate per network").in(perSecondQueries), "Maximum queries per second from one client network (/24, or /56 for IPv6); 0 disables the limit.", 0, maxRate, 0, func(g *farm.GSLB) *uint32 { return &g.QueryRate }),
	boundIn(dnsPart, "answer_rate", basic(atLimits, "Response rate per network").in(perSecondQueries), "Maximum rate per second of identical UDP responses to one client network; 0 disables the limit. It prevents amplification attacks through the farm.", 0, maxRate, 0, func(g *farm.GSLB) *uint32 { return &g.AnswerRate }),
	{
		rule: rule{name: "slip", hints: advanced(atLimits, "Truncation ratio"), kind: kindNumber, min: 1, max: 255, null: true, unset: numberValue(int64(farm.DefaultSlip)),
			about: "Send one of every N responses above answer_rate truncated, so that genuine clients retry over TCP; the others are dropped."},
		get: func(f *farm.Farm) Value { return numberValue(int64(cmp.Or(dnsSeen(f).Slip, farm.DefaultSlip))) },
		set: func(f *farm.Farm, v Value) { dnsOf(f).Slip = orZero(uint8(v.number), farm.DefaultSlip) },
	},
	boundIn(dnsPart, "maxconnections", basic(atLimits, "Max. connections").costs(CostConnections), "Maximum number of TCP connections of the farm.", 1, maxUnbounded, farm.DefaultDNSConnections, func(g *farm.GSLB) *uint32 { return &g.MaxConnections }),
	boundIn(dnsPart, "idle_timeout", basic(atTimeouts, "Idle timeout").in(inSeconds).costs(CostConnections), "Maximum idle time of a TCP connection, in seconds.", 1, MaxTimeout, farm.DefaultDNSIdle, func(g *farm.GSLB) *farm.Seconds { return &g.IdleTimeout }),
	networksIn(dnsPart, "transfer_from", basic(atTransfers, "Secondaries"), "Addresses and networks of secondary servers that may transfer zones by AXFR (IXFR returns the whole zone); none disables transfers. DYNA records are transferred with their current addresses.", func(g *farm.GSLB) *[]netip.Prefix { return &g.Transfers }),
	{
		rule: rule{name: "transfer_keys", hints: basic(atTransfers, "TSIG keys"), kind: kindList, words: true, format: "[algorithm:]name:secret", null: true, max: maxTransferKeys, maxLen: 1024, check: checkTransferKey, hide: hideTransferKey,
			must: "a key as dig takes it, [algorithm:]name:secret", musts: "a list of keys, each [algorithm:]name:secret",
			about: "TSIG keys for zone transfers, as algorithm (hmac-sha256, the default, hmac-sha384 or hmac-sha512), name and base64 secret. If any key is set, transfers require one; the first key signs NOTIFY messages."},
		get: func(f *farm.Farm) Value {
			var out []string
			for _, k := range dnsSeen(f).Keys {
				out = append(out, k.String())
			}
			return listValue(out)
		},
		set: func(f *farm.Farm, v Value) {
			g := dnsOf(f)
			g.Keys = nil
			for _, text := range v.list {
				if k, ok := farm.NewTransferKey(text); ok {
					g.Keys = append(g.Keys, k)
				}
			}
		},
	},
	addressesIn("notify", basic(atTransfers, "NOTIFY targets"), "Secondary servers that receive NOTIFY on zone changes, on port 53.", 64),
	{
		rule: rule{name: "dot", hints: basic(atTLS, "DNS over TLS").costs(CostConnections), kind: kindBool,
			about: "Also serve DNS over TLS (DoT) on dot_port. It starts with the appliance's certificate and TLS 1.2 and 1.3; false discards all TLS settings."},
		get: func(f *farm.Farm) Value { return boolValue(dnsSeen(f).TLS != nil) },
		set: func(f *farm.Farm, v Value) {
			switch g := dnsOf(f); {
			case !v.truth:
				g.TLS, g.TLSPort = nil, 0
			case g.TLS == nil:
				g.TLS = farm.DefaultTLS()
			}
		},
	},
	under(overDoT, boundIn(dnsPart, "dot_port", basic(atTLS, "Port of DNS over TLS"), "TCP port for DNS over TLS.", 1, 65535, farm.DefaultDoTPort, func(g *farm.GSLB) *uint16 { return &g.TLSPort })),
	certificates(overDoT),
	truthIn(dnsPart, "logs", basic(atLogging, "Logging"), "Log each answered query to log_sink.", func(g *farm.GSLB) *bool { return &g.Logs }),
}

// overDoT is the condition of fields for DNS over TLS.
var overDoT = with("dot")

// dnsLogFields are the fields of the query log.
var dnsLogFields = slices.Concat([]field[farm.Farm]{
	logFieldsIn(dnsPart, "Fields of a log line in order; none means all fields.", farm.QueryLogFields(), dnsLog),
	boundIn(dnsPart, "log_sample", advanced(atLogging, "Sampling"), "Log one of every N queries, chosen at random.", 1, MaxLogSample, 1, func(g *farm.GSLB) *uint32 { return &g.AccessLog.Sample }),
}, sinkFields(dnsPart, dnsLog))

func dnsLog(g *farm.GSLB) *farm.AccessLog { return &g.AccessLog }

const perSecondQueries = "queries/s"

func dnsText(name string, h hints, about string, most int, at func(*farm.GSLB) *string) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindText, blank: true, null: true, maxLen: most, pattern: printable, must: "a text of letters, digits and signs of ASCII", about: about},
		get:  func(f *farm.Farm) Value { return textValue(*at(dnsSeen(f))) },
		set:  func(f *farm.Farm, v Value) { *at(dnsOf(f)) = v.text },
	}
}

// checkTransferKey explains an invalid key, or returns "".
func checkTransferKey(text string) string {
	k, ok := farm.NewTransferKey(text)
	switch {
	case !ok:
		return "a key is [algorithm:]name:secret"
	case !slices.Contains(farm.TransferAlgorithms(), k.EffectiveAlgorithm()):
		return fmt.Sprintf("its algorithm is none of %s", strings.Join(texts(farm.TransferAlgorithms()), ", "))
	}
	return rdata.CheckTransferKey(&k)
}

// hideTransferKey masks the secret of a key, unless it is sealed. An invalid key is masked
// completely, as its secret could be anywhere.
func hideTransferKey(s string, _ bool) string {
	k, _ := farm.NewTransferKey(s)
	if _, sealed := k.Secret.Sealed(); sealed {
		return s
	}
	if checkTransferKey(s) != "" {
		return unchanged
	}
	k.Secret = unchanged
	return k.String()
}

// addressRule returns the rule of a list of addresses.
func addressRule(name string, h hints, about string, most int64) rule {
	return rule{name: name, hints: h, kind: kindList, words: true, format: "ip", null: true, max: most, maxLen: 64, check: checkVIP, must: "an IPv4 or IPv6 address", musts: "a list of addresses", about: about}
}

func addressesIn(name string, h hints, about string, most int64) field[farm.Farm] {
	return field[farm.Farm]{
		rule: addressRule(name, h, about, most),
		get:  func(f *farm.Farm) Value { return listValue(addressTexts(dnsSeen(f).Notified)) },
		set:  func(f *farm.Farm, v Value) { dnsOf(f).Notified = addressesOf(v.list) },
	}
}

func addressTexts(list []netip.Addr) (out []string) {
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

func addressesOf(list []string) (out []netip.Addr) {
	for _, text := range list {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

var dnsPart = part[farm.GSLB]{dnsOf, dnsSeen, farm.DefaultGSLB}

// dnsOf returns the settings to change; the defaults for a new farm.
func dnsOf(f *farm.Farm) *farm.GSLB {
	if f.Global == nil {
		f.Global = farm.DefaultGSLB()
	}
	return f.Global
}

// dnsSeen returns the settings to read; the defaults for a farm without any.
func dnsSeen(f *farm.Farm) *farm.GSLB {
	if f.Global == nil {
		return farm.DefaultGSLB()
	}
	return f.Global
}

// checkDNSFarms checks that the gslb farms that services refer to exist.
func checkDNSFarms(cfg *farm.Config, yield func(Error) bool) bool {
	var known map[string]bool
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for j := range f.Services() {
			s := &f.Services()[j]
			if s.DNSFarm == "" {
				continue
			}
			if known == nil {
				known = namesOfZones(cfg)
			}
			if !known[s.DNSFarm] && !yield(*NoNames(f.Name, s.Name, s.DNSFarm)) {
				return false
			}
		}
	}
	return true
}

// namesOfZones returns the names of all gslb farms.
func namesOfZones(cfg *farm.Config) map[string]bool {
	names := map[string]bool{}
	for i := range cfg.Farms {
		if cfg.Farms[i].Zones() != nil {
			names[cfg.Farms[i].Name] = true
		}
	}
	return names
}

// NoNames returns the error for a missing gslb farm.
func NoNames(farmName, service, name string) *Error {
	return &Error{ServicePath(farmName, service), "dns_farm",
		fmt.Sprintf("dns_farm must be the name of a gslb farm, and there is none named %s: create it, or empty dns_farm first", show(name))}
}
