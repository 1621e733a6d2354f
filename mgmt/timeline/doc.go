// Package timeline puts all events of farms on one time axis: the events in mgmt/eventlog,
// the revisions in mgmt/store, and the times at which the latency or errors of a farm
// changed. Package mgmt/changepoint finds these in the numbers of mgmt/timeseries.
//
//	events, revisions ─► what the viewer may see ─┐
//	numbers ─► steps ─► what was before ◄─────────┴─► sorted by time, the newest last
//
// Each step has the events shortly before it, the likeliest cause first: revisions of that
// farm, then the health of its backends, then the rest, each by its distance in time. The
// timeline is computed on request, and nothing is stored.
//
// An event belongs to the farm with its stable number, independently of the farm's current
// name. A viewer who sees only some farms sees only their events, and the reason of a
// revision only if it affected no other farms.
package timeline
