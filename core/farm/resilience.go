package farm

import "cmp"

// Queueing decides what happens to exchanges when every usable backend of their service is
// at its connection limit. The zero value responds 503 at once.
type Queueing struct {
	// Queue is the maximum number of waiting exchanges in the whole engine; 0 means none.
	Queue uint16 `json:"queue,omitempty"`
	// QueueTimeout limits the wait of each; 0 means DefaultQueueTimeout. Valid with Queue.
	QueueTimeout Seconds `json:"queue_timeout,omitempty"`
}

// DefaultQueueTimeout is the default wait for a backend with room.
const DefaultQueueTimeout Seconds = 5

// Retrying decides which failed tries of a request are repeated with another backend,
// besides failed connects, which always are. The zero value means none.
type Retrying struct {
	RetryOn []RetryCondition `json:"retry_on,omitempty"`
	// Retries limits the retries of one request; 0 means DefaultRetries. This and the next
	// fields are valid with RetryOn.
	Retries uint8 `json:"retries,omitempty"`
	// RetryBudget is the maximum percentage of retries among requests; 0 means
	// DefaultRetryBudget.
	RetryBudget uint8 `json:"retry_budget,omitempty"`
	// RetryUnsafe also repeats requests that may change state.
	RetryUnsafe bool `json:"retry_unsafe,omitempty"`
}

// Defaults of Retrying.
const (
	DefaultRetries     = 1
	DefaultRetryBudget = 20
)

// RetryCondition is a kind of failure: a word, or a status in digits.
type RetryCondition string

// The words.
const (
	RetryConnect RetryCondition = "connect" // no connection
	RetryReset   RetryCondition = "reset"   // connection ended before the first byte of a response
	RetryTimeout RetryCondition = "timeout" // no byte of a response in time
)

// RetryConditions lists all valid conditions.
func RetryConditions() []RetryCondition {
	return []RetryCondition{RetryConnect, RetryReset, RetryTimeout, "408", "425", "429", "500", "502", "503", "504"}
}

// Outlier decides when a backend whose responses fail is ejected for a while. The zero value
// never ejects.
type Outlier struct {
	// OutlierErrors is the number of consecutive 5xx responses (except 501 and 505, which
	// depend on the request), resets and timeouts that eject; 0 is off.
	OutlierErrors uint8 `json:"outlier_errors,omitempty"`
	// OutlierRate is the percentage of failed requests in OutlierWindow that ejects, if
	// another backend does better; 0 is off.
	OutlierRate uint8 `json:"outlier_rate,omitempty"`
	// OutlierSlow is the ratio of the backend's median response time to that of the others
	// in OutlierWindow that ejects; 0 is off. The following fields are valid with one of
	// these three.
	OutlierSlow uint8 `json:"outlier_slow,omitempty"`
	// OutlierWindow is the period for rates and times; 0 means DefaultOutlierWindow.
	OutlierWindow Seconds `json:"outlier_window,omitempty"`
	// OutlierRequests is the minimum number of requests in the window to judge a backend; 0
	// means DefaultOutlierRequests.
	OutlierRequests uint16 `json:"outlier_requests,omitempty"`
	// OutlierTime is the duration of the first ejection; 0 means DefaultOutlierTime. It
	// doubles with each repetition, up to OutlierTimes times as long.
	OutlierTime Seconds `json:"outlier_time,omitempty"`
	// OutlierPercent limits the percentage of ejected backends; 0 means
	// DefaultOutlierPercent. One usable backend always stays.
	OutlierPercent uint8 `json:"outlier_percent,omitempty"`
}

// Defaults and limits of Outlier.
const (
	DefaultOutlierPercent  = 50
	DefaultOutlierRequests = 20
	OutlierTimes           = 10

	DefaultOutlierTime   Seconds = 30
	DefaultOutlierWindow Seconds = 10
)

// RateLimit limits the requests of each client of a service. Further requests get a 429
// response with the time to wait.
type RateLimit struct {
	// Requests is the number allowed in Period, evenly paced; 1–MaxRateRequests.
	Requests uint32 `json:"requests"`
	// Period is 1–MaxRatePeriod; 0 means one second.
	Period Seconds `json:"period,omitempty"`
	// Burst is the number of requests allowed at once, 1–MaxRateRequests; 0 means Requests.
	Burst uint32  `json:"burst,omitempty"`
	Key   RateKey `json:"key,omitempty"`
	// Header names the header of RateKeyHeader. A request without it counts for the client's
	// address.
	Header string `json:"header,omitempty"`
}

// Limits of RateLimit.
const (
	MaxRateRequests         = 1_000_000
	MaxRatePeriod   Seconds = 3600
)

// EffectivePeriod returns the period, or the default.
func (r *RateLimit) EffectivePeriod() Seconds { return cmp.Or(r.Period, 1) }

// EffectiveBurst returns the burst, or the default.
func (r *RateLimit) EffectiveBurst() uint32 { return cmp.Or(r.Burst, r.Requests) }

// RateKey is the property by which requests are counted together.
type RateKey string

// The keys; the zero value acts as RateKeyIP.
const (
	RateKeyIP     RateKey = "ip"     // client address; for IPv6 its /64
	RateKeyHeader RateKey = "header" // value of a header
	RateKeyPath   RateKey = "path"   // canonical path without query
)

// RateKeys lists the keys.
func RateKeys() []RateKey { return []RateKey{RateKeyIP, RateKeyHeader, RateKeyPath} }
