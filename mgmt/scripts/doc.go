// Package scripts calls programs of the operator on events: a farm starts or stops, a
// backend goes down or up, a revision is in force, the appliance starts or stops.
//
//	Tell ─► event queue ─► on-EVENT*, on-any*  ─► one queue each ─► mgmt/hook
//
// A script is a program in the folder hooks of the data directory whose name selects its
// events: on-backend-down, on-backend-down.mail, or on-any.log. Its argument is the
// event. The environment has the details (SLUICE_EVENT, SLUICE_FARM …), and standard
// input is a line of JSON with all of them (event.Event). The folder is read for every
// event, so a new script is called from the next event on.
//
// A script gets its events one at a time, in order, each for at most Limit. Scripts run
// concurrently and independently, and Tell never waits for them. Queues are bounded.
// Events that do not fit are dropped, counted and logged. An idle Runner has no
// goroutine.
package scripts
