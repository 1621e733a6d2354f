// Package balance chooses a backend for an exchange or a flow.
//
// A Picker holds the members of one service and one Algorithm. It is made once
// per generation and then only read; what changes between generations — which
// members are usable — comes from the health table, and the tables derived
// from it are swapped atomically when the health table's version moves. State, Load
// and the health table outlive the Picker, so a reload neither restarts a rotation
// nor forgets a connection.
//
//	p := balance.New(balance.Parse(s.Policy), members, healthTable, state)
//	i, ok := p.Pick(hash, tried)   // !ok: no member may be used now, answer 503
//	held := p.Held(i)              // what Pick reserved, nil for most members
//	…                              // connect; on failure held.Done(), tried = tried.With(i), Pick again
//	held.Done()                    // when the exchange is over
//
// # What is never picked
//
// A member that is down, out (maintenance), at its limit, already tried in
// this exchange, or whose priority is above the current level. The level
// follows from the unusable members by the rule of the kind of farm
// (farm.Unusable). A member in maintenance counts as unusable, one at its limit
// does not: full members do not open the next priority.
//
// # Slow start
//
// A member that becomes usable, or is new, ramps up from a tenth of its weight
// to all of it in its SlowStart, for every algorithm but consistent hash. Loads
// remember since when, so a reload does not begin it anew.
//
// # Counting
//
// Load.Active counts exchanges in flight. Pick and Claim count only where the
// number is needed: for members with a limit, and for all members when the
// algorithm compares loads (Algorithm.NeedsLoad). A slot of a limited member
// is taken by compare-and-swap, so a limit is exact however many loops pick at
// once. A member without a limit under round robin or consistent hash touches
// no counter that loops share, except the rotation itself. Because Held tells
// what was reserved, an exchange that outlives its Picker releases the right
// thing whatever the next configuration counts.
//
// # Cost
//
// Pick takes no lock and allocates nothing, apart from the one Pick per loop
// that finds the set of usable members changed.
package balance
