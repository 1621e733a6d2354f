// Package forward carries l4xnat farms in userspace: what comes to a virtual
// port goes to a backend, and back, without being understood.
//
// # The way of a connection
//
// A loop's listener accepts (worker.go) and the farm behind the port is looked
// up once: the connection stays with that compiled farm. Where the farm wants it
// the client has to send something first (firstbytes.go): a header of the PROXY
// protocol, which is taken, or a ClientHello, which is looked at (l4/hello) for
// the name by which backends are grouped (names.go). choose (choose.go)
// finds a backend, by the session of the client or by the algorithm. The
// connection to it is dialled on the same loop (connect.go); one that fails marks
// the backend down and the next one is tried. Both are a pair from then on
// (pair.go), and bytes are relayed both ways (relay.go): read into the loop's
// shared buffer and written straight on. A side is not read while the other is
// full. The end of one direction is passed
// on and leaves the other one open; a reset ends both by a reset.
//
// # The way of a datagram
//
// A loop's UDP listener receives it and finds the flow of the client (flow.go), or
// begins one (flowbegin.go; choose, as above) with a socket of its own to the
// backend, so that answers and rejections belong to it. It ends when it was idle, when
// all answers that are expected have come, or to make room (flows.go): flows are
// bounded by the descriptors of the process, and clients of which nothing is
// known but an address, which may be invented, go first. A first datagram whose
// backend is not there goes to another one (flowbegin.go). Where nothing is
// answered flows to one backend share a socket (oneway.go). Nothing is queued:
// what a socket does not take is dropped and counted. A farm that stops has no
// grace for datagrams: with its sockets there is nothing to answer from.
//
// # What connections and datagrams share
//
// Everything but the carrying: the farm as it is compiled (table.go,
// compile.go), what outlives tables by stable number (registry.go), the choice
// (choose.go, key.go), sessions and questions about them (sessions.go), what counts
// for max_conns (registry.go), records and classes of rejections (record.go), counters
// (worker.go), and the ports with the life of their farms (engine.go, table.go). A
// transport adds how it listens (worker.Listen) and what happens to what is
// under way when tables change (worker.reconcile) and farms end (worker.forceClose).
//
// # Who owns what
//
// A table is immutable; loops load it by one pointer. A worker and all its
// connections belong to its loop. Sessions, loads and connection counts are shared by all
// loops and outlive tables. Publish and its kin take one lock that no loop
// takes.
//
// Budget: 0 allocations per chunk that is relayed, and per connection none but
// what the kernel needs; no lock that loops share but those of sessions.
package forward
