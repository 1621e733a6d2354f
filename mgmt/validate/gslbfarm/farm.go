package gslbfarm

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Bodies about a gslb farm. All profiles share profile.FarmAction.
var (
	// Create is the body of POST /farms; see httpfarm.Create.
	Create = field.Table[farm.Farm]{Fields: slices.Concat(profile.NewFarm, profile.Notes, fields)}
	// Update is the body of PUT /farms/F; setting newfarmname renames.
	Update = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{field.Named(profile.FarmName, "newfarmname"), profile.FarmVIP, profile.FarmVPort}, profile.Notes, fields)}
	// Document is a farm in a document, without services and zones.
	Document = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{
		field.Require(profile.FarmName), field.Require(profile.FarmProfile),
		field.Require(profile.FarmVIP), field.Require(profile.FarmVPort), profile.FarmStopped}, profile.Notes, fields)}
	// Answer holds the fields in responses.
	Answer = field.Table[farm.Farm]{Fields: slices.Concat(profile.Notes, fields)}
)

// Limits of gslb farms.
const (
	maxRate = 10_000_000
	maxNSID = 64
	// maxTransferKeys bounds the number of TSIG keys of a farm.
	maxTransferKeys = 16
)

// fields are the fields of a gslb farm except its address.
var fields = slices.Concat(settings, logFields)

// settings are those fields without the query log.
var settings = []field.Field[farm.Farm]{
	text("server_version", field.Basic(field.AtAnswers, "Server version"), "Response to version.bind queries; empty refuses them.", 255, func(g *farm.GSLB) *string { return &g.ServerVersion }),
	text("nsid", field.Advanced(field.AtAnswers, "Server identity"), "Server identity returned for NSID and id.server; empty disables it.", maxNSID, func(g *farm.GSLB) *string { return &g.NSID }),
	profile.Bound(part, "query_rate", field.Basic(field.AtLimits, "Query rate per network").In(perSecondQueries), "Maximum queries per second from one client network (/24, or /56 for IPv6); 0 disables the limit.", 0, maxRate, 0, func(g *farm.GSLB) *uint32 { return &g.QueryRate }),
	profile.Bound(part, "answer_rate", field.Basic(field.AtLimits, "Response rate per network").In(perSecondQueries), "Maximum rate per second of identical UDP responses to one client network; 0 disables the limit. It prevents amplification attacks through the farm.", 0, maxRate, 0, func(g *farm.GSLB) *uint32 { return &g.AnswerRate }),
	{
		Rule: field.Rule{Name: "slip", Hints: field.Advanced(field.AtLimits, "Truncation ratio"), Kind: field.Number, Min: 1, Max: 255, Null: true, Unset: field.NumberValue(int64(farm.DefaultSlip)),
			About: "Send one of every N responses above answer_rate truncated, so that genuine clients retry over TCP; the others are dropped."},
		Get: func(f *farm.Farm) field.Value {
			return field.NumberValue(int64(cmp.Or(read(f).Slip, farm.DefaultSlip)))
		},
		Set: func(f *farm.Farm, v field.Value) { edit(f).Slip = field.OrZero(uint8(v.Number()), farm.DefaultSlip) },
	},
	profile.Bound(part, "maxconnections", field.Basic(field.AtLimits, "Max. connections").Costs(field.CostConnections), "Maximum number of TCP connections of the farm.", 1, field.Unbounded, farm.DefaultDNSConnections, func(g *farm.GSLB) *uint32 { return &g.MaxConnections }),
	profile.Bound(part, "idle_timeout", field.Basic(field.AtTimeouts, "Idle timeout").In(field.Seconds).Costs(field.CostConnections), "Maximum idle time of a TCP connection, in seconds.", 1, format.MaxTimeout, farm.DefaultDNSIdle, func(g *farm.GSLB) *farm.Seconds { return &g.IdleTimeout }),
	profile.Networks(part, "transfer_from", field.Basic(field.AtTransfers, "Secondaries"), "Addresses and networks of secondary servers that may transfer zones by AXFR (IXFR returns the whole zone); none disables transfers. DYNA records are transferred with their current addresses.", func(g *farm.GSLB) *[]netip.Prefix { return &g.Transfers }),
	{
		Rule: field.Rule{Name: "transfer_keys", Hints: field.Basic(field.AtTransfers, "TSIG keys"), Kind: field.List, Words: true, Format: "[algorithm:]name:secret", Null: true, Max: maxTransferKeys, MaxLen: 1024, Check: checkTransferKey, Hide: hideTransferKey,
			Must: "a key as dig takes it, [algorithm:]name:secret", MustList: "a list of keys, each [algorithm:]name:secret",
			About: "TSIG keys for zone transfers, as algorithm (hmac-sha256, the default, hmac-sha384 or hmac-sha512), name and base64 secret. If any key is set, transfers require one; the first key signs NOTIFY messages."},
		Get: func(f *farm.Farm) field.Value {
			var out []string
			for _, k := range read(f).Keys {
				out = append(out, k.String())
			}
			return field.ListValue(out)
		},
		Set: func(f *farm.Farm, v field.Value) {
			g := edit(f)
			g.Keys = nil
			for _, text := range v.List() {
				if k, ok := farm.NewTransferKey(text); ok {
					g.Keys = append(g.Keys, k)
				}
			}
		},
	},
	addressesIn("notify", field.Basic(field.AtTransfers, "NOTIFY targets"), "Secondary servers that receive NOTIFY on zone changes, on port 53.", 64),
	{
		Rule: field.Rule{Name: "dot", Hints: field.Basic(field.AtTLS, "DNS over TLS").Costs(field.CostConnections), Kind: field.Bool,
			About: "Also serve DNS over TLS (DoT) on dot_port. It starts with the appliance's certificate and TLS 1.2 and 1.3; false discards all TLS settings."},
		Get: func(f *farm.Farm) field.Value { return field.BoolValue(read(f).TLS != nil) },
		Set: func(f *farm.Farm, v field.Value) {
			switch g := edit(f); {
			case !v.Bool():
				g.TLS, g.TLSPort = nil, 0
			case g.TLS == nil:
				g.TLS = farm.DefaultTLS()
			}
		},
	},
	field.OnlyIf(overDoT, profile.Bound(part, "dot_port", field.Basic(field.AtTLS, "Port of DNS over TLS"), "TCP port for DNS over TLS.", 1, 65535, farm.DefaultDoTPort, func(g *farm.GSLB) *uint16 { return &g.TLSPort })),
	profile.CertificatesRule(overDoT),
	profile.Truth(part, "logs", field.Basic(field.AtLogging, "Logging"), "Log each answered query to log_sink.", func(g *farm.GSLB) *bool { return &g.Logs }),
}

// overDoT is the condition of fields for DNS over TLS.
var overDoT = field.With("dot")

// logFields are the fields of the query log.
var logFields = slices.Concat([]field.Field[farm.Farm]{
	profile.LogFields(part, "Fields of a log line in order; none means all fields.", farm.QueryLogFields(), accessLog),
	profile.Bound(part, "log_sample", field.Advanced(field.AtLogging, "Sampling"), "Log one of every N queries, chosen at random.", 1, profile.MaxLogSample, 1, func(g *farm.GSLB) *uint32 { return &g.AccessLog.Sample }),
}, profile.SinkFields(part, accessLog))

func accessLog(g *farm.GSLB) *farm.AccessLog { return &g.AccessLog }

const perSecondQueries = "queries/s"

func text(name string, h field.Hints, about string, most int, at func(*farm.GSLB) *string) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Text, Blank: true, Null: true, MaxLen: most, Pattern: printable, Must: "a text of letters, digits and signs of ASCII", About: about},
		Get:  func(f *farm.Farm) field.Value { return field.TextValue(*at(read(f))) },
		Set:  func(f *farm.Farm, v field.Value) { *at(edit(f)) = v.Text() },
	}
}

// checkTransferKey explains an invalid key, or returns "".
func checkTransferKey(text string) string {
	k, ok := farm.NewTransferKey(text)
	switch {
	case !ok:
		return "a key is [algorithm:]name:secret"
	case !slices.Contains(farm.TransferAlgorithms(), k.EffectiveAlgorithm()):
		return fmt.Sprintf("its algorithm is none of %s", strings.Join(field.Texts(farm.TransferAlgorithms()), ", "))
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
		return format.Unchanged
	}
	k.Secret = format.Unchanged
	return k.String()
}

// addressRule returns the rule of a list of addresses.
func addressRule(name string, h field.Hints, about string, most int64) field.Rule {
	return field.Rule{Name: name, Hints: h, Kind: field.List, Words: true, Format: "ip", Null: true, Max: most, MaxLen: 64, Check: format.VIP, Must: "an IPv4 or IPv6 address", MustList: "a list of addresses", About: about}
}

func addressesIn(name string, h field.Hints, about string, most int64) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: addressRule(name, h, about, most),
		Get:  func(f *farm.Farm) field.Value { return field.ListValue(addressTexts(read(f).Notified)) },
		Set:  func(f *farm.Farm, v field.Value) { edit(f).Notified = addressesOf(v.List()) },
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

var part = profile.Part[farm.GSLB]{Edit: edit, Read: read, New: farm.DefaultGSLB}

// edit returns the settings to change; the defaults for a new farm.
func edit(f *farm.Farm) *farm.GSLB {
	if f.Global == nil {
		f.Global = farm.DefaultGSLB()
	}
	return f.Global
}

// read returns the settings to read; the defaults for a farm without any.
func read(f *farm.Farm) *farm.GSLB {
	if f.Global == nil {
		return farm.DefaultGSLB()
	}
	return f.Global
}
