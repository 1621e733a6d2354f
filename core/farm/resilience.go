package farm

import "cmp"

// Queueing says what happens to exchanges that find every usable backend of
// their service at its connection limit; the zero value answers 503 at once.
type Queueing struct {
	// Queue is how many of them may wait, in the whole engine; 0 is none.
	Queue uint16 `json:"queue,omitempty"`
	// QueueTimeout bounds the wait of each; 0 means DefaultQueueTimeout. Valid
	// with Queue.
	QueueTimeout Seconds `json:"queue_timeout,omitempty"`
}

// DefaultQueueTimeout is how long an exchange waits for a backend to have room
// when its service does not say.
const DefaultQueueTimeout Seconds = 5

// Retrying says which failed tries of a request go on to another backend,
// besides connects that fail, which always do. The zero value is none.
type Retrying struct {
	RetryOn []RetryCondition `json:"retry_on,omitempty"`
	// Retries bounds those of one request; 0 means DefaultRetries. This field and
	// the next ones are valid with RetryOn.
	Retries uint8 `json:"retries,omitempty"`
	// RetryBudget is how many of a hundred requests may be retries; 0 means
	// DefaultRetryBudget.
	RetryBudget uint8 `json:"retry_budget,omitempty"`
	// RetryUnsafe lets requests be repeated that may change something, too.
	RetryUnsafe bool `json:"retry_unsafe,omitempty"`
}

// Defaults of Retrying.
const (
	DefaultRetries     = 1
	DefaultRetryBudget = 20
)

// RetryCondition is how a try may fail: a word, or a status in digits.
type RetryCondition string

// The words.
const (
	RetryConnect RetryCondition = "connect" // no connection
	RetryReset   RetryCondition = "reset"   // its end before the first byte of an answer
	RetryTimeout RetryCondition = "timeout" // no byte of an answer in time
)

// RetryConditions lists all that may be asked for.
func RetryConditions() []RetryCondition {
	return []RetryCondition{RetryConnect, RetryReset, RetryTimeout, "408", "425", "429", "500", "502", "503", "504"}
}

// Outlier says when a backend that answers, but badly, is taken out for a while;
// the zero value never does.
type Outlier struct {
	// OutlierErrors is how many answers of 5xx (not 501 and 505, which tell
	// of the request), resets and time-outs in a row it takes; 0 is off.
	OutlierErrors uint8 `json:"outlier_errors,omitempty"`
	// OutlierRate is how many in a hundred requests may fail in OutlierWindow while
	// another backend does better; 0 is off.
	OutlierRate uint8 `json:"outlier_rate,omitempty"`
	// OutlierSlow is how many times as long as those of the others its answers may
	// take in OutlierWindow, by their medians; 0 is off. The fields
	// after it are valid with one of these three.
	OutlierSlow uint8 `json:"outlier_slow,omitempty"`
	// OutlierWindow is how long is counted for a rate and times; 0 means
	// DefaultOutlierWindow.
	OutlierWindow Seconds `json:"outlier_window,omitempty"`
	// OutlierRequests is how many requests a backend must have had in it to be
	// judged; 0 means DefaultOutlierRequests.
	OutlierRequests uint16 `json:"outlier_requests,omitempty"`
	// OutlierTime is how long the first time; 0 means DefaultOutlierTime. It
	// doubles with each repetition, up to OutlierTimes times as long.
	OutlierTime Seconds `json:"outlier_time,omitempty"`
	// OutlierPercent bounds how many of a hundred backends are out at a time; 0
	// means DefaultOutlierPercent. One that is usable always stays.
	OutlierPercent uint8 `json:"outlier_percent,omitempty"`
}

// Defaults and bounds of Outlier.
const (
	DefaultOutlierPercent  = 50
	DefaultOutlierRequests = 20
	OutlierTimes           = 10

	DefaultOutlierTime   Seconds = 30
	DefaultOutlierWindow Seconds = 10
)

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
