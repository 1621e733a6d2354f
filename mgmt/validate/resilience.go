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
		rule: rule{name: "queue", hints: basic(atQueue, "Places in the queue"), kind: kindNumber, min: 0, max: MaxQueue, null: true,
			about: "How many exchanges may wait while all usable backends are at their connection_limit; 0 answers 503 at once."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.Queue)) },
		set: func(s *farm.Service, v Value) { s.Queue = uint16(v.number) },
	},
	{
		rule: rule{name: "queue_timeout", hints: basic(atQueue, "Longest wait").in(inSeconds), kind: kindNumber, min: 1, max: MaxQueueTimeout, null: true,
			only: with("queue"), acts: numberValue(int64(farm.DefaultQueueTimeout)), about: "Seconds an exchange waits at most."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.QueueTimeout)) },
		set: func(s *farm.Service, v Value) { s.QueueTimeout = farm.Seconds(v.number) },
	},
}

// retryFields select which failed attempts are retried on another backend.
var retryFields = []field[farm.Service]{
	{
		rule: rule{name: "retry_on", hints: basic(atRetries, "Retry on"), kind: kindList, words: true, null: true, max: int64(len(farm.RetryConditions())), maxLen: 16, check: checkRetryCondition,
			format: "condition", must: "one of " + strings.Join(texts(farm.RetryConditions()), ", "), musts: "a list of " + strings.Join(texts(farm.RetryConditions()), ", "),
			about: "Failed tries that go on to another backend: reset and timeout before the first byte of an answer, answers of a status. Connects that fail always do."},
		get: func(s *farm.Service) Value { return listValue(texts(s.RetryOn)) },
		set: func(s *farm.Service, v Value) {
			s.RetryOn = nil
			for _, item := range v.list {
				s.RetryOn = append(s.RetryOn, farm.RetryCondition(item))
			}
		},
	},
	retryNumber("retries", advanced(atRetries, "Retries"), MaxRetries, farm.DefaultRetries, "How often a request is repeated at most.", func(s *farm.Service) *uint8 { return &s.Retries }),
	retryNumber("retry_budget", advanced(atRetries, "Budget").in(inPercent), 100, farm.DefaultRetryBudget, "Most retries in a hundred requests, beyond ten in ten seconds on each event loop.", func(s *farm.Service) *uint8 { return &s.RetryBudget }),
	{
		rule: rule{name: "retry_unsafe", hints: advanced(atRetries, "Unsafe methods"), kind: kindBool, only: with("retry_on").resting(), about: "Whether requests that may change something (POST, PATCH) are repeated too, after a reset or by status."},
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
		rule: rule{name: "outlier_errors", hints: basic(atOutlier, "Failures in a row"), kind: kindNumber, min: 0, max: MaxOutlierErrors, null: true,
			about: "After how many answers of 5xx (but 501 and 505), resets and time-outs in a row a backend is ejected for a while; 0 for never."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.OutlierErrors)) },
		set: func(s *farm.Service, v Value) { s.OutlierErrors = uint8(v.number) },
	},
	{
		rule: rule{name: "outlier_rate", hints: basic(atOutlier, "Failures in a hundred").in(inPercent), kind: kindNumber, min: 0, max: 99, null: true,
			about: "A backend that fails more than so many in a hundred requests of outlier_window is ejected, while another does not; 0 for never."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.OutlierRate)) },
		set: func(s *farm.Service, v Value) { s.OutlierRate = uint8(v.number) },
	},
	{
		rule: rule{name: "outlier_slow", hints: basic(atOutlier, "Times slower"), kind: kindNumber, min: 0, max: MaxOutlierSlow, null: true,
			about: "A backend whose answers take more than so many times as long as those of the others, and 10 ms more, is ejected, by the medians of outlier_window; 0 for never."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.OutlierSlow)) },
		set: func(s *farm.Service, v Value) { s.OutlierSlow = uint8(v.number) },
	},
	under(with("outlier_rate", "outlier_slow"), outlierNumber("outlier_window", advanced(atOutlier, "Counted time").in(inSeconds), MaxOutlierWindow, int64(farm.DefaultOutlierWindow), "Seconds that are counted for outlier_rate and outlier_slow.",
		func(s *farm.Service) int64 { return int64(s.OutlierWindow) }, func(s *farm.Service, n int64) { s.OutlierWindow = farm.Seconds(n) })),
	under(with("outlier_rate", "outlier_slow"), outlierNumber("outlier_requests", advanced(atOutlier, "Fewest requests"), MaxOutlierRequests, farm.DefaultOutlierRequests, "Requests a backend must have had in outlier_window for outlier_rate and outlier_slow to judge it.",
		func(s *farm.Service) int64 { return int64(s.OutlierRequests) }, func(s *farm.Service, n int64) { s.OutlierRequests = uint16(n) })),
	outlierNumber("outlier_time", advanced(atOutlier, "Ejection time").in(inSeconds), MaxOutlierTime, int64(farm.DefaultOutlierTime), "Seconds it is ejected the first time, up to ten times as many when it happens again.",
		func(s *farm.Service) int64 { return int64(s.OutlierTime) }, func(s *farm.Service, n int64) { s.OutlierTime = farm.Seconds(n) }),
	outlierNumber("outlier_percent", advanced(atOutlier, "Most ejected").in(inPercent), 100, farm.DefaultOutlierPercent, "Most backends in a hundred that are ejected at a time; one that is usable always stays.",
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
			about: "Seconds in which a backend that comes up, is added or leaves maintenance goes from a tenth of its weight to all of it; 0 for none. CONSISTENT_HASH ignores it."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.SlowStart)) },
		set: func(s *farm.Service, v Value) { s.SlowStart = farm.Seconds(v.number) },
	},
}
