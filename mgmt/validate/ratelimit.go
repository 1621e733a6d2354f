package validate

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// rateFields are the fields of the per-client request limit.
var rateFields = []field[farm.Service]{
	{
		rule: rule{name: "ratelimit", hints: basic(atRate, "Requests").in(inRequests), kind: kindNumber, max: farm.MaxRateRequests, null: true,
			about: "Maximum requests per client in ratelimit_period, spread evenly; excess requests get a 429 with Retry-After. 0 disables the limit."},
		get: func(s *farm.Service) Value { return numberValue(int64(rateOf(s).Requests)) },
		set: func(s *farm.Service, v Value) {
			switch {
			case v.number == 0:
				s.RateLimit = nil
			case s.RateLimit == nil:
				s.RateLimit = &farm.RateLimit{Requests: uint32(v.number)}
			default:
				s.RateLimit.Requests = uint32(v.number)
			}
		},
	},
	{
		rule: rule{name: "ratelimit_period", hints: basic(atRate, "Period").in(inSeconds), kind: kindNumber, min: 1, max: int64(farm.MaxRatePeriod), null: true, unset: numberValue(1),
			only: with("ratelimit"), about: "Period of ratelimit, in seconds."},
		get: func(s *farm.Service) Value { return numberValue(int64(rateOf(s).EffectivePeriod())) },
		set: func(s *farm.Service, v Value) { s.RateLimit.Period = orZero(farm.Seconds(v.number), 1) },
	},
	{
		rule: rule{name: "ratelimit_burst", hints: advanced(atRate, "Burst").in(inRequests), bare: leftOut, kind: kindNumber, min: 1, max: farm.MaxRateRequests, null: true,
			only: with("ratelimit"), about: "Number of requests allowed in a burst above the even rate; defaults to ratelimit."},
		get: func(s *farm.Service) Value { return numberValue(int64(rateOf(s).Burst)) },
		set: func(s *farm.Service, v Value) { s.RateLimit.Burst = uint32(v.number) },
	},
	{
		rule: rule{name: "ratelimit_key", hints: advanced(atRate, "Count per"), kind: kindText, values: texts(farm.RateKeys()), null: true, unset: textValue(string(farm.RateKeyIP)),
			only: with("ratelimit"), about: "Key for counting requests: ip (client address, /64 for IPv6), header (value of ratelimit_header) or path."},
		get: func(s *farm.Service) Value { return textValue(string(cmp.Or(rateOf(s).Key, farm.RateKeyIP))) },
		set: func(s *farm.Service, v Value) { s.RateLimit.Key = orZero(farm.RateKey(v.text), farm.RateKeyIP) },
	},
	{
		rule: rule{name: "ratelimit_header", hints: advanced(atRate, "Header"), kind: kindText, blank: true, format: "name of a header", maxLen: 64, pattern: tokenPattern,
			must: "the name of a header", only: being("ratelimit_key", farm.RateKeyHeader), about: "Header used by ratelimit_key header; requests without it are counted by client address."},
		get: func(s *farm.Service) Value { return textValue(rateOf(s).Header) },
		set: func(s *farm.Service, v Value) { s.RateLimit.Header = v.text },
	},
}

// rateOf returns the settings to read; without a limit, the defaults.
func rateOf(s *farm.Service) *farm.RateLimit { return cmp.Or(s.RateLimit, &farm.RateLimit{}) }

// checkRate checks the rules between the settings of the limit; l is nil without one.
func checkRate(path string, l *farm.RateLimit) *Error {
	switch {
	case l == nil:
		return nil
	case l.Requests == 0:
		return &Error{path, "ratelimit", "ratelimit must not be 0 while its other fields are set"}
	case l.Key == farm.RateKeyHeader && l.Header == "":
		return &Error{path, "ratelimit_header", "ratelimit_header is required with ratelimit_key header: it names the header that tells clients apart"}
	}
	return nil
}
