// Package marks provides marked sockets (SO_MARK) to the engine, which lacks the
// privilege to set marks.
//
// # From netd to the loop
//
// netd has the capability. It makes unconnected sockets and sends them over a
// unixpacket pair, whose ends the supervisor keeps for its lifetime. A Reserve holds
// sockets for every mark and IP version of the published configuration. A loop that
// connects to a backend with a mark takes one of them. When half of them are used, a
// goroutine requests more. Loops wait only if a burst has emptied a reserve, and not if
// netd is down.
//
// netd makes only the kinds in Published. mgmt adds a kind before the engine receives a
// farm that needs it, and removes it after the engine has dropped the farm. A
// compromised engine therefore cannot obtain other marks or foreign source addresses.
//
// # Failures
//
// Requests are idempotent, and every answer describes its sockets. A request lost with
// a dying netd is repeated after a timeout. An answer to a dead engine is used by its
// successor. Unconnected sockets do not expire.
//
// # Limits
//
// Packet filters that match the owner of a socket see root, because netd made it.
//
// # Costs
//
// Descriptors: at most 8,192 for all reserves together, but at least four per kind.
// Taking a socket costs a map lookup and a lock with short critical sections, without
// allocation.
package marks
