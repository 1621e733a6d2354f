// Package proxy forwards HTTP exchanges from clients to backends. It joins l7/client,
// l7/table, l7/backend and the core into one pipeline on the event loop.
//
// # The path of an exchange
//
//	worker.Begin        a client has a request: table.Plan decides about it
//	exchange.forwardTo  picks a backend, takes or opens a connection, writes the head
//	ClientReadable      streams the request body, pausing while the backend is full
//	exchange.respond    parses and rewrites the response head, streams its body
//	exchange.finish     counts, returns the connection, resumes the client
//	tunnel              takes over both connections after a 101
//
// # Ownership
//
// A worker is one loop's part. It, its clients and its exchanges belong to that loop and
// need no locks. The table is immutable and shared through one atomic pointer; an exchange
// keeps the table it began with. State that outlives tables (loads, round-robin positions,
// sessions) is in l7/state.
//
// # Panics
//
// All work of an exchange is done on behalf of its client. A panic in an event of the backend
// connection is therefore contained in the client's event, which closes both connections,
// even if the state of the backend connection is damaged.
//
// # Budget
//
// 0 allocations per exchange; two reads and two writes if the body fits a read.
package proxy
