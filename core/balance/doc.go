// Package balance chooses a backend for an exchange or a flow.
//
// A Picker holds the members of one service and one Algorithm. It is made once per
// generation and then only read. Which members are usable comes from the health table;
// tables derived from it are swapped atomically when its version changes. State, Load and
// the health table outlive the Picker, so a reload neither restarts a rotation nor loses
// counts.
//
//	p := balance.New(balance.Parse(s.Policy), members, healthTable, state)
//	i, ok := p.Pick(hash, tried)   // !ok: no member is usable, respond 503
//	held := p.Held(i)              // the reservation by Pick, nil for most members
//	…                              // connect; on failure held.Done(), tried = tried.With(i), Pick again
//	held.Done()                    // when the exchange is over
//
// # Members that are not picked
//
// Pick skips members that are down, out (maintenance), at their limit, already tried in this
// exchange, or of a priority above the current level. The level follows from the unusable
// members by the rule of the kind of farm (farm.Unusable). A member in maintenance counts as
// unusable. A member at its limit does not: full members do not open the next priority.
//
// # Slow start
//
// A new or recovered member ramps up from a tenth of its weight to its full weight within
// its SlowStart, with every algorithm except consistent hash. Loads store the time of
// recovery, so a reload does not restart the ramp.
//
// # Counting
//
// Load.Active counts exchanges in flight. Pick and Claim count only where needed: for members
// with a limit, and for all members if the algorithm compares loads (Algorithm.NeedsLoad). A
// slot of a limited member is taken by compare-and-swap, so limits are exact with any number of
// loops. For a member without a limit, round robin and consistent hash use no shared counter
// except the rotation. Held returns the reservation, so an exchange that outlives its Picker
// releases the right one even after a change of the configuration.
//
// # Cost
//
// Pick takes no lock. It allocates only once per loop after the set of usable members changed.
package balance
