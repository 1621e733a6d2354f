// Package trial watches the change that is pending (mgmt/apply): one that goes back
// by itself unless somebody confirms it, or unless what is measured of its farms
// stays in a band.
//
//	errors<1%,p99<200ms,backends_up>=2,10m
//
// Parse reads that, Watcher.Guard makes it part of a change. A Watcher looks
// every two seconds while a change is pending, and sleeps otherwise.
//
// What the counters say is judged twice at each look: since the change, and for
// the last minute, so that a failure that begins late is not lost among many good
// answers. Below a number of answers nothing is judged: one error of three
// requests says nothing. A Watcher is used by one goroutine that runs it; Progress
// may be asked by any.
package trial
