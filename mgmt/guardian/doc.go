// Package guardian runs the checks of farms and services on their backends, and writes the
// results into the health table, which loops and netd read.
//
//	Set ─► tasks ─► heap by time ─► those that are due, by priority ─► a goroutine each
//	                     ▲                                                  │
//	                     └──────── judge ◄── result ◄───────────────────────┘
//	                                 └─► health table, log
//
// A task is one check of one address: farms that need the same one share it, and two checks
// of one address are two tasks. A task never runs twice at a time. Tasks are spread over
// time. Options limit how many run at once; more wait their turn. One goroutine looks for
// due tasks; it does not run while no check is linked. A probe that this machine could not
// send (probe.ErrLocal) changes no verdict. If there is no verdict yet, the health table
// gets Unable, and Why returns the reason: otherwise the result would be awaited forever.
//
// Farms that return backends to clients by name, e.g. DNS farms, may use addresses of farms
// of this appliance. These backends are not probed, but have the state of their farm
// (LookFarms).
//
// The guardian writes words of its own (health.Table.SetGuardian). So a backend that it
// found down does not come up by a successful connect, nor the other way round. Backends
// without a probe, e.g. those in maintenance, are undefined.
package guardian
