// Package guardian asks backends by the checks their farms and services name whether
// they work, and writes what it finds into the health table, which loops and netd follow.
//
//	Set ─► tasks ─► heap by time ─► those that are due, by priority ─► a goroutine each
//	                     ▲                                                  │
//	                     └──────── judge ◄── result ◄───────────────────────┘
//	                                 └─► health table, log
//
// A task is one check of one address: farms that need the same share it, and two checks
// of one address are two tasks. It is never under way twice. Tasks begin apart from each
// other and stay so, and as many are under way at once as Options say; more wait their
// turn. One goroutine looks what is due, and there is none while no check is linked.
// A probe that this machine could not send (probe.ErrLocal) changes no verdict. Where there
// is none yet the health table gets Unable, and Why returns the reason: nobody shall wait
// for a result that may never come.
//
// Who names backends to clients, as a farm of the DNS does, may name addresses of farms
// of this appliance: these are not asked, but are as their farm is (LookFarms).
//
// The guardian writes words of its own (health.Table.SetGuardian): a backend it found
// down is not raised by a connect that succeeds, nor the other way round. What it does
// not ask about, as backends in maintenance, it calls undefined.
package guardian
