// Package scripts calls programs of the operator when something happens: a farm
// starts or stops, a backend goes down or up, a revision is in force, the appliance
// starts or stops.
//
//	Tell ─► events that wait ─► on-EVENT*, on-any*  ─► one queue each ─► mgmt/hook
//
// A script is a program in the folder hooks of the data directory whose name says
// what it hears of: on-backend-down, or on-backend-down.mail, or on-any.log. It is
// called with the event as its argument, finds the rest in its environment
// (SLUICE_EVENT, SLUICE_FARM …), and can read all of it as a line of JSON
// (event.Event) from its standard input. The folder is read for every event: what is put
// there is called from the next one on.
//
// A script hears its events one after the other, in order, each for Limit at most;
// several scripts run beside each other, so that none waits for another. Tell never
// waits for any. What waits is bounded, and what finds no room is dropped, counted
// and logged. There is no goroutine while nothing happens.
package scripts
