// Package metrics exports the engine's counters to Prometheus: GET /metrics.
//
// Nothing is stored here. A scrape sums the counters of all loops (core/stats) for every
// farm, backend and loop of the current configuration, independently of the loops. Names,
// help and kind of a counter come from the tags in core/stats, so a new counter there is
// exported at once.
//
// Names follow the conventions of Prometheus: the prefix sluice_, base units, _total for
// values that only grow. Labels are the names from operators: farm, service, backend
// (address and port); code is a status class.
package metrics
