// Package neigh knows where backends are on the wire: the interface their
// packets leave by, the MAC addresses at both ends, and whether a gateway is
// between. Data paths that write Ethernet headers themselves need this, because
// no route lookup of the kernel does it for them.
//
// # The way through it
//
// A Watcher is told whom to watch (Want). One goroutine asks the kernel for the
// route of each address and looks into its neighbour table; whom the table does
// not know is asked for there, by ARP or neighbour solicitation. Whatever the
// kernel announces about links, addresses, routes and neighbours makes it look
// again. Readers learn by Changed that something is different and read all of
// it by NextHops: nothing is lost when they are slow.
//
// # What keeps entries fresh
//
// Packets sent past the routing of the kernel confirm no entry, so the watcher
// says that it uses them (NTF_USE), every refreshInterval: the kernel then
// probes the ones it is no more sure of, as it does for its own traffic. Nothing
// permanent is set; entries age as usual when the watcher is gone.
//
// A MAC that was known is kept while the kernel asks again, for holdTime: a
// server that changed its network card answers the second, broadcast question.
package neigh
