// Package guardian runs the checks of farms and services on their backends, and writes the
// results into the health table, which loops and netd read.
//
//	Set ─► tasks ─► heap by time ─► those that are due, by priority ─► a goroutine each
//	                     ▲                                                  │
//	                     └──────── judge ◄── result ◄───────────────────────┘
//	                                 └─► health table, log
//
// A task is one check of one address. Farms that need the same task share it; two checks of
// one address are two tasks. Only one probe of a task runs at a time. The start times of
// tasks are spread. Options limit how many probes run at once; more wait their turn. One
// goroutine looks for due tasks, as long as any check is linked.
//
// A probe that this machine could not send (probe.ErrLocal) changes no verdict. Without a
// verdict, the health table then gets Unable, and Why returns the reason. Otherwise readers
// would wait for a result that may never come.
//
// A gslb backend may be the address of another farm of this appliance. Such a backend is
// not probed; it takes that farm's status (LookFarms).
//
// The guardian has its own words in the health table (health.Table.SetGuardian). A
// successful connect therefore does not raise a backend that the guardian found down, and a
// successful probe does not raise one that failed its connects. Backends without a probe,
// e.g. those in maintenance, are undefined.
package guardian
