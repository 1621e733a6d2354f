// Package trial watches the pending change (mgmt/apply). Such a change is reverted unless
// it is confirmed, or unless the metrics of its farms meet conditions.
//
//	errors<1%,p99<200ms,backends_up>=2,10m
//
// Parse reads that, Watcher.Guard makes it part of a change. A Watcher checks every two
// seconds while a change is pending, and sleeps otherwise.
//
// Each check judges the counters twice: since the change, and for the last minute, so that
// a failure that begins late is not hidden by many good answers. With too few answers
// nothing is judged: one error in three requests says nothing. A Watcher is used by one
// goroutine that runs it; any goroutine may call Progress.
package trial
