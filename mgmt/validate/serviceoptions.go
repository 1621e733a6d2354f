package validate

import (
	"cmp"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// The bounds of what a service may have.
const (
	// MaxConditions is how many headers a service may require, or deny.
	MaxConditions = 32
	// MaxSTS is the longest Strict-Transport-Security in seconds: ten years.
	MaxSTS = 10 * 365 * 86400
)

// serviceOptions are what a service has beside its matching, persistence and
// policy.
var serviceOptions = slices.Concat(conditionFields, backendTLSFields, backendProtocolFields, cookieFields, stsFields, servedByFields,
	rateFields, authFields, splitFields, proxyOutFields, resilienceFields,
	compressionFields)

// conditionFields are further conditions and what is done with the exchange.
var conditionFields = []field[farm.Service]{
	conditions("headrequire", advanced(atMatching, "Required headers"), "Regexes for header lines (\"Name: value\"); of each some line must match.", func(s *farm.Service) *[]string { return &s.HeadRequire }),
	conditions("headdeny", advanced(atMatching, "Denied headers"), "Regexes for header lines (\"Name: value\"); of none any line may match.", func(s *farm.Service) *[]string { return &s.HeadDeny }),
	option("ignorecase", advanced(atMatching, "Ignore case"), "Whether urlp ignores case.", func(s *farm.Service) *bool { return &s.IgnoreCase }),
	{
		rule: rule{name: "rewritelocation", hints: basic(atResponses, "Rewrite Location"), kind: kindText, values: append([]string{""}, texts(farm.RewriteLocations())...), null: true,
			about: "Which Location headers of responses are rewritten; empty for what the farm says."},
		get: func(s *farm.Service) Value { return textValue(string(s.RewriteLocation)) },
		set: func(s *farm.Service, v Value) { s.RewriteLocation = farm.RewriteLocation(v.text) },
	},
	{
		rule: rule{name: "pinnedconnection", hints: advanced(atBackends, "Pinned connection"), kind: kindNumber, values: []string{"0", "1"}, about: "Whether a client stays on the backend connection it used first."},
		get: func(s *farm.Service) Value {
			if s.Pinned {
				return numberValue(1)
			}
			return numberValue(0)
		},
		set: func(s *farm.Service, v Value) { s.Pinned = v.number == 1 },
	},
	{
		rule: rule{name: "abortonclose", hints: advanced(atRequests, "End with the client"), kind: kindBool, unset: boolValue(true),
			about: "Whether an exchange ends when its client ends its direction after the whole request (FIN, close_notify); a reset ends it in any case; false for clients that close one half and read on."},
		get: func(s *farm.Service) Value { return boolValue(!s.IgnoreClose) },
		set: func(s *farm.Service, v Value) { s.IgnoreClose = !v.truth },
	},
}

// stsFields are what is told to browsers for later.
var stsFields = []field[farm.Service]{
	{
		rule: rule{name: "sts_status", hints: basic(atResponses, "Strict-Transport-Security"), kind: kindBool, about: "Whether Strict-Transport-Security is sent; only with listener https."},
		get:  func(s *farm.Service) Value { return boolValue(s.STS != 0) },
		set: func(s *farm.Service, v Value) {
			switch {
			case !v.truth:
				s.STS = 0
			case s.STS == 0:
				s.STS = farm.DefaultSTS
			}
		},
	},
	{
		rule: rule{name: "sts_timeout", hints: basic(atResponses, "Its lifetime").in(inSeconds), kind: kindNumber, min: 1, max: MaxSTS, null: true, unset: numberValue(int64(farm.DefaultSTS)),
			only: with("sts_status"), about: "Seconds of Strict-Transport-Security."},
		get: func(s *farm.Service) Value { return numberValue(int64(cmp.Or(s.STS, farm.DefaultSTS))) },
		set: func(s *farm.Service, v Value) { s.STS = cmp.Or(farm.Seconds(v.number), farm.DefaultSTS) },
	},
}

// option makes the field of a truth value.
func option(name string, h hints, about string, at func(*farm.Service) *bool) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindBool, about: about},
		get:  func(s *farm.Service) Value { return boolValue(*at(s)) },
		set:  func(s *farm.Service, v Value) { *at(s) = v.truth },
	}
}

// conditions makes the field of a list of regexes for header lines.
func conditions(name string, h hints, about string, at func(*farm.Service) *[]string) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindList, format: "regex", null: true, max: MaxConditions, maxLen: MaxPattern, check: checkPattern,
			must: "a valid regular expression", musts: "a list of regular expressions", about: about},
		get: func(s *farm.Service) Value { return listValue(*at(s)) },
		set: func(s *farm.Service, v Value) { *at(s) = v.list },
	}
}
