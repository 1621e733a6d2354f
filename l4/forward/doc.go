// Package forward forwards the traffic of l4xnat farms in userspace, between virtual ports
// and backends, without interpreting it.
//
// # The path of a connection
//
// A loop's listener accepts a connection (worker.go) and looks up the farm of the port once;
// the connection keeps that compiled farm. If the farm requires it, the client has to send
// first (firstbytes.go). A PROXY header is consumed. A ClientHello is only peeked at
// (l4/hello), for the name that selects a group of backends (names.go). choose (choose.go)
// selects a backend by the session of the client or by the algorithm. The backend connection
// is opened on the same loop (connect.go). If the connect fails, the backend is marked down
// and the next one is tried. Both connections then form a pair (pair.go). Bytes are relayed
// in both directions (relay.go): read into the loop's shared buffer and written immediately.
// A side is not read while the other is full. A half-close is passed on and leaves the other
// direction open; a reset ends both directions by a reset.
//
// # The path of a datagram
//
// A loop's UDP listener receives it and finds the flow of the client (flow.go). Otherwise it
// creates a flow (flowbegin.go; choose, as above) with its own socket to the backend, which
// receives the responses and ICMP errors. A flow ends after its idle time, after all
// expected responses, or to make room (flows.go). Flows are bounded by the descriptors of
// the process, and unconfirmed clients, whose addresses may be spoofed, are evicted first.
// If the backend refuses the first datagram, it is sent to another one (flowbegin.go). Flows
// without responses share one socket per backend (oneway.go). There are no queues: datagrams
// that a socket does not accept are dropped and counted. A stopped farm has no grace for
// datagrams, because responses need its sockets.
//
// # Common parts
//
// Connections and datagrams differ only in the forwarding. They share compiled farms
// (table.go, compile.go), state that outlives tables and the count for max_conns
// (registries.go), the selection (choose.go, key.go) and sessions (sessions.go). They also
// share records and rejections (record.go), counters (worker.go), and the life of ports
// (engine.go, table.go). Each transport adds its listeners (worker.Listen), and its handling
// of table changes (worker.reconcile) and ended farms (worker.forceClose).
//
// # Ownership
//
// A table is immutable, and loops load it through one pointer. A worker and all its
// connections belong to its loop. Sessions, loads and connection counts are shared by all
// loops and outlive tables. Publish and related methods take one lock that no loop takes.
//
// Budget: 0 allocations per relayed chunk and per connection, except in the kernel. Loops
// share no locks except for sessions.
package forward
