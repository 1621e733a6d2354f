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
//
// # Parts
//
// An exchange consists of named parts, which own their state and the methods for it:
//
//	choice, outgoing  the selection of the backend and the request head for it (l7/table)
//	record            log data, times and the request ID
//	login             the wait for a password check
//	queue             the wait for a backend with room
//	revival           the attempt to reach a down backend
//	load              its share of the backend's load
//	saved, sending    the request while it may be sent again, and how it was sent
//	head              the response head while it is incomplete
//	retry             retries after failed responses, and the response held back meanwhile
//	encoding          compression of the response
//	upgrade           the requested protocol
//
// After a 101 a tunnel takes over both connections, and the exchange ends. A DNS query over
// HTTPS is a dohQuery instead of an exchange, because it has no backend.
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
