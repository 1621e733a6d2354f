package httpfarm

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
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
var queueFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "queue", Hints: field.Basic(field.AtQueue, "Queue length"), Kind: field.Number, Min: 0, Max: MaxQueue, Null: true,
			About: "Maximum number of requests queued while all usable backends are at their connection_limit; with 0 they get a 503 immediately. Each backend has another queue of this length for clients whose session or cookie names it."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(s.Queue)) },
		Set: func(s *farm.Service, v field.Value) { s.Queue = uint16(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "queue_timeout", Hints: field.Basic(field.AtQueue, "Max. wait").In(field.Seconds), Kind: field.Number, Min: 1, Max: MaxQueueTimeout, Null: true,
			Only: field.With("queue"), Default: field.NumberValue(int64(farm.DefaultQueueTimeout)), About: "Maximum time a request waits in the queue, in seconds."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(s.QueueTimeout)) },
		Set: func(s *farm.Service, v field.Value) { s.QueueTimeout = farm.Seconds(v.Number()) },
	},
}

// retryFields select which failed attempts are retried on another backend.
var retryFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "retry_on", Hints: field.Basic(field.AtRetries, "Retry on"), Kind: field.List, Words: true, Null: true, Max: int64(len(farm.RetryConditions())), MaxLen: 16, Check: checkRetryCondition,
			Format: "condition", Must: "one of " + strings.Join(field.Texts(farm.RetryConditions()), ", "), MustList: "a list of " + strings.Join(field.Texts(farm.RetryConditions()), ", "),
			About: "Failures retried on another backend: reset and timeout before the first response byte, or response statuses. Failed connects are always retried."},
		Get: func(s *farm.Service) field.Value { return field.ListValue(field.Texts(s.RetryOn)) },
		Set: func(s *farm.Service, v field.Value) {
			s.RetryOn = nil
			for _, item := range v.List() {
				s.RetryOn = append(s.RetryOn, farm.RetryCondition(item))
			}
		},
	},
	retryNumber("retries", field.Advanced(field.AtRetries, "Retries"), MaxRetries, farm.DefaultRetries, "Maximum number of retries per request.", func(s *farm.Service) *uint8 { return &s.Retries }),
	retryNumber("retry_budget", field.Advanced(field.AtRetries, "Retry budget").In(field.Percent), 100, farm.DefaultRetryBudget, "Maximum percentage of requests that are retried; ten retries per ten seconds and event loop are always allowed.", func(s *farm.Service) *uint8 { return &s.RetryBudget }),
	{
		Rule: field.Rule{Name: "retry_unsafe", Hints: field.Advanced(field.AtRetries, "Retry unsafe methods"), Kind: field.Bool, Only: field.With("retry_on").AllowDefault(), About: "Also retry non-idempotent requests (POST, PATCH) after a reset or by status."},
		Get:  func(s *farm.Service) field.Value { return field.BoolValue(s.RetryUnsafe) },
		Set:  func(s *farm.Service, v field.Value) { s.RetryUnsafe = v.Bool() },
	},
}

// retryNumber returns the field of a number for which 0 means the default.
func retryNumber(name string, h field.Hints, most, acts int64, about string,
	at func(*farm.Service) *uint8) field.Field[farm.Service] {
	return field.Field[farm.Service]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Number, Min: 1, Max: most, Null: true, Only: field.With("retry_on"), Default: field.NumberValue(acts), About: about},
		Get:  func(s *farm.Service) field.Value { return field.NumberValue(int64(*at(s))) },
		Set:  func(s *farm.Service, v field.Value) { *at(s) = uint8(v.Number()) },
	}
}

func checkRetryCondition(s string) string {
	if slices.Contains(farm.RetryConditions(), farm.RetryCondition(s)) {
		return ""
	}
	return "it is none of them"
}

// outlierFields define the ejection of failing or slow backends.
var outlierFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "outlier_errors", Hints: field.Basic(field.AtOutlier, "Consecutive failures"), Kind: field.Number, Min: 0, Max: MaxOutlierErrors, Null: true,
			About: "Number of consecutive 5xx responses (except 501 and 505), resets and timeouts after which a backend is temporarily ejected; 0 disables the check."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(s.OutlierErrors)) },
		Set: func(s *farm.Service, v field.Value) { s.OutlierErrors = uint8(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "outlier_rate", Hints: field.Basic(field.AtOutlier, "Failure rate (%)").In(field.Percent), Kind: field.Number, Min: 0, Max: 99, Null: true,
			About: "Eject a backend if more than this percentage of its requests in outlier_window fail while another backend stays below it; 0 disables the check."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(s.OutlierRate)) },
		Set: func(s *farm.Service, v field.Value) { s.OutlierRate = uint8(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "outlier_slow", Hints: field.Basic(field.AtOutlier, "Slower than the others (×)"), Kind: field.Number, Min: 0, Max: MaxOutlierSlow, Null: true,
			About: "Eject a backend if its median response time in outlier_window exceeds that of the others by more than this factor and by at least 10 ms; 0 disables the check."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(s.OutlierSlow)) },
		Set: func(s *farm.Service, v field.Value) { s.OutlierSlow = uint8(v.Number()) },
	},
	field.OnlyIf(field.With("outlier_rate", "outlier_slow"), outlierNumber("outlier_window", field.Advanced(field.AtOutlier, "Evaluation window").In(field.Seconds), MaxOutlierWindow, int64(farm.DefaultOutlierWindow), "Time window evaluated by outlier_rate and outlier_slow, in seconds.",
		func(s *farm.Service) int64 { return int64(s.OutlierWindow) }, func(s *farm.Service,
			n int64) {
			s.OutlierWindow = farm.Seconds(n)
		})),
	field.OnlyIf(field.With("outlier_rate", "outlier_slow"), outlierNumber("outlier_requests", field.Advanced(field.AtOutlier, "Min. requests"), MaxOutlierRequests, farm.DefaultOutlierRequests, "Minimum number of requests in outlier_window before outlier_rate and outlier_slow apply to a backend.",
		func(s *farm.Service) int64 { return int64(s.OutlierRequests) }, func(s *farm.Service,
			n int64) {
			s.OutlierRequests = uint16(n)
		})),
	outlierNumber("outlier_time", field.Advanced(field.AtOutlier, "Ejection time").In(field.Seconds), MaxOutlierTime, int64(farm.DefaultOutlierTime), "Duration of the first ejection, in seconds; repeated ejections last up to ten times as long.",
		func(s *farm.Service) int64 { return int64(s.OutlierTime) }, func(s *farm.Service,
			n int64) {
			s.OutlierTime = farm.Seconds(n)
		}),
	outlierNumber("outlier_percent", field.Advanced(field.AtOutlier, "Max. ejected (%)").In(field.Percent), 100, farm.DefaultOutlierPercent, "Maximum percentage of backends ejected at the same time; at least one usable backend always remains.",
		func(s *farm.Service) int64 { return int64(s.OutlierPercent) }, func(s *farm.Service,
			n int64) {
			s.OutlierPercent = uint8(n)
		}),
}

// outlierNumber returns the field of a number for which 0 means the default.
func outlierNumber(name string, h field.Hints, most, acts int64, about string, get func(*farm.Service) int64,
	set func(*farm.Service, int64)) field.Field[farm.Service] {
	return field.Field[farm.Service]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Number, Min: 1, Max: most, Null: true, Only: field.With("outlier_errors", "outlier_rate", "outlier_slow"), Default: field.NumberValue(acts), About: about},
		Get:  func(s *farm.Service) field.Value { return field.NumberValue(get(s)) },
		Set:  func(s *farm.Service, v field.Value) { set(s, v.Number()) },
	}
}

// slowStartFields define the slow start of backends.
var slowStartFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "slowstart", Hints: field.Advanced(field.AtBalancing, "Slow start").In(field.Seconds), Kind: field.Number, Min: 0, Max: MaxSlowStart, Null: true,
			About: "Ramp-up time in seconds from a tenth of the weight to full weight after a backend comes up, is added or leaves maintenance; 0 disables it. Not used by CONSISTENT_HASH."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(s.SlowStart)) },
		Set: func(s *farm.Service, v field.Value) { s.SlowStart = farm.Seconds(v.Number()) },
	},
}
