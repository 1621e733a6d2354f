// Package recorder writes down every five seconds what farms, their backends and the
// machine do, into mgmt/timeseries.
//
// Farms and backends go by their stable numbers, so that a farm keeps its numbers
// when it is renamed. A service has none of its own: it is the sum of its backends.
package recorder
