package validate

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// rateFields are the limit of requests per client. The others mean something
// only while ratelimit is not 0.
var rateFields = []field[farm.Service]{
	{
		rule: rule{name: "ratelimit", kind: kindNumber, max: farm.MaxRateRequests, null: true,
			about: "Requests a client may make in ratelimit_period, at an even pace; more are answered 429 with Retry-After. 0 for no limit."},
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
		rule: rule{name: "ratelimit_period", kind: kindNumber, min: 1, max: int64(farm.MaxRatePeriod), null: true, unset: numberValue(1),
			about: "Seconds ratelimit is for."},
		get:   func(s *farm.Service) Value { return numberValue(int64(rateOf(s).EffectivePeriod())) },
		set:   onRate(func(l *farm.RateLimit, v Value) { l.Period = orZero(farm.Seconds(v.number), 1) }),
		needs: needsRate,
	},
	{
		rule: rule{name: "ratelimit_burst", kind: kindNumber, min: 1, max: farm.MaxRateRequests, null: true,
			about: "Requests that may come at once, ahead of the pace; as many as ratelimit when unset."},
		get:   func(s *farm.Service) Value { return numberValue(int64(rateOf(s).Burst)) },
		set:   onRate(func(l *farm.RateLimit, v Value) { l.Burst = uint32(v.number) }),
		needs: needsRate,
	},
	{
		rule: rule{name: "ratelimit_key", kind: kindText, values: texts(farm.RateKeys()), null: true, unset: textValue(string(farm.RateKeyIP)),
			about: "Whose requests are counted together: of one client address (in IPv6 of one /64), with one value of ratelimit_header, or to one path."},
		get: func(s *farm.Service) Value { return textValue(string(cmp.Or(rateOf(s).Key, farm.RateKeyIP))) },
		set: onRate(func(l *farm.RateLimit, v Value) {
			if l.Key = orZero(farm.RateKey(v.text), farm.RateKeyIP); l.Key != farm.RateKeyHeader {
				l.Header = ""
			}
		}),
		needs: needsRate,
	},
	{
		rule: rule{name: "ratelimit_header", kind: kindText, blank: true, format: "name of a header", maxLen: 64, pattern: tokenPattern,
			must: "the name of a header", about: "Header of ratelimit_key header; requests without it count for the client's address."},
		get: func(s *farm.Service) Value { return textValue(rateOf(s).Header) },
		set: onRate(func(l *farm.RateLimit, v Value) { l.Header = v.text }),
		needs: func(sent Values[farm.Service], s *farm.Service) string {
			if problem := needsRate(sent, s); problem != "" || s.RateLimit.Key == farm.RateKeyHeader {
				return problem
			}
			return "is allowed only with ratelimit_key header; send ratelimit_key header with it"
		},
	},
}

func needsRate(_ Values[farm.Service], s *farm.Service) string {
	if s.RateLimit != nil {
		return ""
	}
	return "is allowed only while ratelimit is not 0; send ratelimit with it"
}

// onRate sets where there is a limit; elsewhere only a reset comes here, which
// has nothing to do.
func onRate(set func(*farm.RateLimit, Value)) func(*farm.Service, Value) {
	return func(s *farm.Service, v Value) {
		if s.RateLimit != nil {
			set(s.RateLimit, v)
		}
	}
}

// rateOf returns what to read: a service without a limit shows what was never set.
func rateOf(s *farm.Service) *farm.RateLimit { return cmp.Or(s.RateLimit, &farm.RateLimit{}) }

// checkRate holds the rules between the directives of the limit; l is nil
// without one.
func checkRate(path string, l *farm.RateLimit) *Error {
	switch {
	case l == nil:
		return nil
	case l.Requests == 0:
		return &Error{path, "ratelimit", "ratelimit must not be 0 while its other directives are set"}
	case l.Key == farm.RateKeyHeader && l.Header == "":
		return &Error{path, "ratelimit_header", "ratelimit_header is required with ratelimit_key header: it names the header that tells clients apart"}
	case l.Key != farm.RateKeyHeader && l.Header != "":
		return &Error{path, "ratelimit_header", "ratelimit_header is allowed only with ratelimit_key header"}
	}
	return nil
}
