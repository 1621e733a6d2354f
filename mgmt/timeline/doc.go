// Package timeline puts everything that happened to farms on one axis: what mgmt/eventlog
// keeps, the revisions of mgmt/store, and the moments at which latency or errors of a
// farm became others, which mgmt/changepoint finds in the numbers of mgmt/timeseries.
//
//	events, revisions ─► who may see what ─┐
//	numbers ─► steps ─► what was before ◄──┴─► sorted by time, the newest last
//
// With each step there is what happened shortly before, the likeliest cause first:
// revisions of that farm, then the health of its backends, then the rest, each by how
// near it was. Nothing is computed until somebody asks, and nothing is kept.
//
// An event belongs to the farm of its stable number, whatever that is called now. Who
// sees some farms only sees what is about these, and of a revision that touched others
// as well not what it was for.
package timeline
