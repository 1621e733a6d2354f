package farm

import "cmp"

// RateLimit bounds the requests of each client of a service. More are answered
// with 429 and the time after which to ask again.
type RateLimit struct {
	// Requests may be made in Period, at an even pace; 1–MaxRateRequests.
	Requests uint32 `json:"requests"`
	// Period is 1–MaxRatePeriod; 0 means one second.
	Period Seconds `json:"period,omitempty"`
	// Burst is how many requests may come at once, ahead of the pace,
	// 1–MaxRateRequests; 0 means as many as Requests.
	Burst uint32  `json:"burst,omitempty"`
	Key   RateKey `json:"key,omitempty"`
	// Header names the header of RateKeyHeader. A request without it counts for
	// the client's address.
	Header string `json:"header,omitempty"`
}

// The bounds of a RateLimit.
const (
	MaxRateRequests         = 1_000_000
	MaxRatePeriod   Seconds = 3600
)

// EffectivePeriod is Period with the unset value replaced.
func (r *RateLimit) EffectivePeriod() Seconds { return cmp.Or(r.Period, 1) }

// EffectiveBurst is Burst with the unset value replaced.
func (r *RateLimit) EffectiveBurst() uint32 { return cmp.Or(r.Burst, r.Requests) }

// RateKey says whose requests are counted together.
type RateKey string

// The keys; the zero value acts as RateKeyIP.
const (
	RateKeyIP     RateKey = "ip"     // of one client address; in IPv6 of one /64
	RateKeyHeader RateKey = "header" // with one value of a header
	RateKeyPath   RateKey = "path"   // to one canonical path, whatever its query
)

// RateKeys lists the keys.
func RateKeys() []RateKey { return []RateKey{RateKeyIP, RateKeyHeader, RateKeyPath} }
