// Package metrics shows what the engine counted to Prometheus: GET /metrics.
//
// Nothing is kept here. A scrape sums the counters of all loops (core/stats)
// for every farm, backend and loop of the configuration at hand; loops know
// nothing of it. Names, help and kind of a counter come from the tags in
// core/stats, so a counter that is added there is exported at once.
//
// Names follow the conventions of Prometheus: sluice_ and what is counted,
// base units, _total for what only grows. Labels are the names operators gave:
// farm, service, backend (address and port); code is a class of statuses.
package metrics
