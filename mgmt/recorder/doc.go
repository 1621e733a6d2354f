// Package recorder records the figures of farms, their backends and the machine in
// mgmt/timeseries every five seconds.
//
// Farms and backends are identified by their stable numbers, so that a renamed farm keeps
// its figures. A service has no number: it is the sum of its backends.
package recorder
