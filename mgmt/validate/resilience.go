package validate

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of overload and failure handling of a service.
const (
	// MaxQueue is the maximum length of a service's queue.
	MaxQueue = 65535
	// MaxQueueTimeout is the maximum queue timeout in seconds.
	MaxQueueTimeout = 3600
	// MaxRetries is the maximum number of retries of a request.
	MaxRetries = 5
	// MaxOutlierErrors is the maximum threshold of consecutive failures for an ejection,
	// MaxOutlierTime the maximum duration of the first ejection in seconds.
	MaxOutlierErrors = 100
	MaxOutlierTime   = 3600
	// MaxOutlierSlow is the maximum latency factor relative to the other backends,
	// MaxOutlierWindow the maximum window in seconds, and MaxOutlierRequests the maximum
	// number of requests required.
	MaxOutlierSlow     = 100
	MaxOutlierWindow   = 3600
	MaxOutlierRequests = 65535
	// MaxSlowStart is the maximum duration of a slow start in seconds.
	MaxSlowStart = 3600
)

var resilienceFields = slices.Concat(queueFields, retryFields, outlierFields, slowStartFields)

// queueFields define what happens to exchanges when all backends are full.
var queueFields = []field[farm.Service]{
	{
		rule: rule{name: "queue", hints: basic(atQueue, "Queue length"), kind: kindNumber, min: 0, max: MaxQueue, null: true,
			about: "Maximum number of requests queued while all usable backends are at their connection_limit; with 0 they get a 503 immediately. Each backend has another queue of this length for clients whose session or cookie names it."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.Queue)) },
		set: func(s *farm.Service, v Value) { s.Queue = uint16(v.number) },
	},
	{
		rule: rule{name: "queue_timeout", hints: basic(atQueue, "Max. wait").in(inSeconds), kind: kindNumber, min: 1, max: MaxQueueTimeout, null: true,
			only: with("queue"), acts: numberValue(int64(farm.DefaultQueueTimeout)), about: "Maximum time a request waits in the queue, in seconds."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.QueueTimeout)) },
		set: func(s *farm.Service, v Value) { s.QueueTimeout = farm.Seconds(v.number) },
	},
}

// retryFields select which failed attempts are retried on another backend.
var retryFields = []field[farm.Service]{
	{
		rule: rule{name: "retry_on", hints: basic(atRetries, "Retry on"), kind: kindList, words: true, null: true, max: int64(len(farm.RetryConditions())), maxLen: 16, check: checkRetryCondition,
			format: "condition", must: "one of " + strings.Join(texts(farm.RetryConditions()), ", "), musts: "a list of " + strings.Join(texts(farm.RetryConditions()), ", "),
			about: "Failures retried on another backend: reset and timeout before the first response byte, or response statuses. Failed connects are always retried."},
		get: func(s *farm.Service) Value { return listValue(texts(s.RetryOn)) },
		set: func(s *farm.Service, v Value) {
			s.RetryOn = nil
			for _, item := range v.list {
				s.RetryOn = append(s.RetryOn, farm.RetryCondition(item))
			}
		},
	},
	retryNumber("retries", advanced(atRetries, "Retries"), MaxRetries, farm.DefaultRetries, "Maximum number of retries per request.", func(s *farm.Service) *uint8 { return &s.Retries }),
	retryNumber("retry_budget", advanced(atRetries, "Retry budget").in(inPercent), 100, farm.DefaultRetryBudget, "Maximum percentage of requests that are retried; ten retries per ten seconds and event loop are always allowed.", func(s *farm.Service) *uint8 { return &s.RetryBudget }),
	{
		rule: rule{name: "retry_unsafe", hints: advanced(atRetries, "Retry unsafe methods"), kind: kindBool, only: with("retry_on").resting(), about: "Also retry non-idempotent requests (POST, PATCH) after a reset or by status."},
		get:  func(s *farm.Service) Value { return boolValue(s.RetryUnsafe) },
		set:  func(s *farm.Service, v Value) { s.RetryUnsafe = v.truth },
	},
}

// retryNumber returns the field of a number for which 0 means the default.
func retryNumber(name string, h hints, most, acts int64, about string, at func(*farm.Service) *uint8) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindNumber, min: 1, max: most, null: true, only: with("retry_on"), acts: numberValue(acts), about: about},
		get:  func(s *farm.Service) Value { return numberValue(int64(*at(s))) },
		set:  func(s *farm.Service, v Value) { *at(s) = uint8(v.number) },
	}
}

func checkRetryCondition(s string) string {
	if slices.Contains(farm.RetryConditions(), farm.RetryCondition(s)) {
		return ""
	}
	return "it is none of them"
}

// outlierFields define the ejection of failing or slow backends.
var outlierFields = []field[farm.Service]{
	{
		rule: rule{name: "outlier_errors", hints: basic(atOutlier, "Consecutive failures"), kind: kindNumber, min: 0, max: MaxOutlierErrors, null: true,
			about: "Number of consecutive 5xx responses (except 501 and 505), resets and timeouts after which a backend is temporarily ejected; 0 disables the check."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.OutlierErrors)) },
		set: func(s *farm.Service, v Value) { s.OutlierErrors = uint8(v.number) },
	},
	{
		rule: rule{name: "outlier_rate", hints: basic(atOutlier, "Failure rate (%)").in(inPercent), kind: kindNumber, min: 0, max: 99, null: true,
			about: "Eject a backend if more than this percentage of its requests in outlier_window fail while another backend stays below it; 0 disables the check."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.OutlierRate)) },
		set: func(s *farm.Service, v Value) { s.OutlierRate = uint8(v.number) },
	},
	{
		rule: rule{name: "outlier_slow", hints: basic(atOutlier, "Slower than the others (×)"), kind: kindNumber, min: 0, max: MaxOutlierSlow, null: true,
			about: "Eject a backend if its median response time in outlier_window exceeds that of the others by more than this factor and by at least 10 ms; 0 disables the check."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.OutlierSlow)) },
		set: func(s *farm.Service, v Value) { s.OutlierSlow = uint8(v.number) },
	},
	under(with("outlier_rate", "outlier_slow"), outlierNumber("outlier_window", advanced(atOutlier, "Evaluation window").in(inSeconds), MaxOutlierWindow, int64(farm.DefaultOutlierWindow), "Time window evaluated by outlier_rate and outlier_slow, in seconds.",
		func(s *farm.Service) int64 { return int64(s.OutlierWindow) }, func(s *farm.Service, n int64) { s.OutlierWindow = farm.Seconds(n) })),
	under(with("outlier_rate", "outlier_slow"), outlierNumber("outlier_requests", advanced(atOutlier, "Min. requests"), MaxOutlierRequests, farm.DefaultOutlierRequests, "Minimum number of requests in outlier_window before outlier_rate and outlier_slow apply to a backend.",
		func(s *farm.Service) int64 { return int64(s.OutlierRequests) }, func(s *farm.Service, n int64) { s.OutlierRequests = uint16(n) })),
	outlierNumber("outlier_time", advanced(atOutlier, "Ejection time").in(inSeconds), MaxOutlierTime, int64(farm.DefaultOutlierTime), "Duration of the first ejection, in seconds; repeated ejections last up to ten times as long.",
		func(s *farm.Service) int64 { return int64(s.OutlierTime) }, func(s *farm.Service, n int64) { s.OutlierTime = farm.Seconds(n) }),
	outlierNumber("outlier_percent", advanced(atOutlier, "Max. ejected (%)").in(inPercent), 100, farm.DefaultOutlierPercent, "Maximum percentage of backends ejected at the same time; at least one usable backend always remains.",
		func(s *farm.Service) int64 { return int64(s.OutlierPercent) }, func(s *farm.Service, n int64) { s.OutlierPercent = uint8(n) }),
}

// outlierNumber returns the field of a number for which 0 means the default.
func outlierNumber(name string, h hints, most, acts int64, about string, get func(*farm.Service) int64, set func(*farm.Service, int64)) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindNumber, min: 1, max: most, null: true, only: with("outlier_errors", "outlier_rate", "outlier_slow"), acts: numberValue(acts), about: about},
		get:  func(s *farm.Service) Value { return numberValue(get(s)) },
		set:  func(s *farm.Service, v Value) { set(s, v.number) },
	}
}

// slowStartFields define the slow start of backends.
var slowStartFields = []field[farm.Service]{
	{
		rule: rule{name: "slowstart", hints: advanced(atBalancing, "Slow start").in(inSeconds), kind: kindNumber, min: 0, max: MaxSlowStart, null: true,
			about: "Ramp-up time in seconds from a tenth of the weight to full weight after a backend comes up, is added or leaves maintenance; 0 disables it. Not used by CONSISTENT_HASH."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.SlowStart)) },
		set: func(s *farm.Service, v Value) { s.SlowStart = farm.Seconds(v.number) },
	},
}
