// Package neigh finds the next hop of backends on the wire: the outgoing interface, the
// MAC addresses of both ends, and the gateway, if any. Data paths that write Ethernet
// headers themselves need this, because they bypass the route lookup of the kernel.
//
// # The way through it
//
// Want sets the addresses that a Watcher tracks. One goroutine gets the route of each
// address from the kernel and reads its neighbour table. For missing entries it has the
// kernel send ARP or neighbour solicitation. It looks again after every kernel event
// about links, addresses, routes and neighbours. Changed signals a difference, and
// NextHops returns the complete state, so slow readers lose nothing.
//
// # Refreshing entries
//
// Packets that bypass kernel routing do not confirm entries. The watcher therefore marks
// them as used (NTF_USE) every refreshInterval, and the kernel probes stale ones as it
// does for its own traffic. Nothing permanent is set; entries age as usual when the
// watcher is closed.
//
// A known MAC is kept for holdTime while the kernel probes: a server with a new network
// card answers only the broadcast that follows the unicast probes.
package neigh
