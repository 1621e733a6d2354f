package httpfarm

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// rateFields are the fields of the per-client request limit.
var rateFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "ratelimit", Hints: field.Basic(field.AtRate, "Requests").In(field.Requests), Kind: field.Number, Max: farm.MaxRateRequests, Null: true,
			About: "Maximum requests per client in ratelimit_period, spread evenly; excess requests get a 429 with Retry-After. 0 disables the limit."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(rateOf(s).Requests)) },
		Set: func(s *farm.Service, v field.Value) {
			switch {
			case v.Number() == 0:
				s.RateLimit = nil
			case s.RateLimit == nil:
				s.RateLimit = &farm.RateLimit{Requests: uint32(v.Number())}
			default:
				s.RateLimit.Requests = uint32(v.Number())
			}
		},
	},
	{
		Rule: field.Rule{Name: "ratelimit_period", Hints: field.Basic(field.AtRate, "Period").In(field.Seconds), Kind: field.Number, Min: 1, Max: int64(farm.MaxRatePeriod), Null: true, Unset: field.NumberValue(1),
			Only: field.With("ratelimit"), About: "Period of ratelimit, in seconds."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(rateOf(s).EffectivePeriod())) },
		Set: func(s *farm.Service, v field.Value) { s.RateLimit.Period = field.OrZero(farm.Seconds(v.Number()), 1) },
	},
	{
		Rule: field.Rule{Name: "ratelimit_burst", Hints: field.Advanced(field.AtRate, "Burst").In(field.Requests), IfUnset: field.Omit, Kind: field.Number, Min: 1, Max: farm.MaxRateRequests, Null: true,
			Only: field.With("ratelimit"), About: "Number of requests allowed in a burst above the even rate; defaults to ratelimit."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(rateOf(s).Burst)) },
		Set: func(s *farm.Service, v field.Value) { s.RateLimit.Burst = uint32(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "ratelimit_key", Hints: field.Advanced(field.AtRate, "Count per"), Kind: field.Text, Values: field.Texts(farm.RateKeys()), Null: true, Unset: field.TextValue(string(farm.RateKeyIP)),
			Only: field.With("ratelimit"), About: "Key for counting requests: ip (client address, /64 for IPv6), header (value of ratelimit_header) or path."},
		Get: func(s *farm.Service) field.Value {
			return field.TextValue(string(cmp.Or(rateOf(s).Key, farm.RateKeyIP)))
		},
		Set: func(s *farm.Service, v field.Value) {
			s.RateLimit.Key = field.OrZero(farm.RateKey(v.Text()), farm.RateKeyIP)
		},
	},
	{
		Rule: field.Rule{Name: "ratelimit_header", Hints: field.Advanced(field.AtRate, "Header"), Kind: field.Text, Blank: true, Format: "name of a header", MaxLen: 64, Pattern: format.Token,
			Must: "the name of a header", Only: field.WithValue("ratelimit_key", farm.RateKeyHeader), About: "Header used by ratelimit_key header; requests without it are counted by client address."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(rateOf(s).Header) },
		Set: func(s *farm.Service, v field.Value) { s.RateLimit.Header = v.Text() },
	},
}

// rateOf returns the settings to read; without a limit, the defaults.
func rateOf(s *farm.Service) *farm.RateLimit { return cmp.Or(s.RateLimit, &farm.RateLimit{}) }

// checkRate checks the rules between the settings of the limit; l is nil without one.
func checkRate(path string, l *farm.RateLimit) *field.Error {
	switch {
	case l == nil:
		return nil
	case l.Requests == 0:
		return &field.Error{Path: path, Field: "ratelimit", Message: "ratelimit must not be 0 while its other fields are set"}
	case l.Key == farm.RateKeyHeader && l.Header == "":
		return &field.Error{Path: path, Field: "ratelimit_header", Message: "ratelimit_header is required with ratelimit_key header: it names the header that tells clients apart"}
	}
	return nil
}
