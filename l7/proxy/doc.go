// Package proxy carries HTTP exchanges from clients to backends: it joins
// l7/client, l7/table, l7/backend and the core into one pipeline on the event loop.
//
// # The way of an exchange
//
//	worker.Begin       a client has a request: table.Plan says what happens to it
//	exchange.forwardTo picks a backend, takes or opens a connection, writes the head
//	ClientReadable     streams the request body, pausing while the backend is full
//	exchange.respond   parses and rewrites the response head, streams its body
//	exchange.finish    counts, gives the connection back, lets the client go on
//
// # Who owns what
//
// A worker is one loop's share: everything it and its clients and exchanges
// touch belongs to that loop and needs no lock. The table is immutable and
// shared by one atomic pointer; an exchange keeps the table it began with.
// What outlives tables (loads, round-robin positions, sessions) is in l7/state.
//
// # Mistakes of ours
//
// All that happens in an exchange is done for its client. A panic in an event
// of the backend's connection is therefore contained to the client's, which
// closes both, whatever had become of the backend's when it went wrong.
//
// # Budget
//
// 0 allocations per exchange, two reads and two writes for one whose body fits
// a read.
package proxy
