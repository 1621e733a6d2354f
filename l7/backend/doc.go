// Package backend transports exchanges to backends: a Transport sends the request and reads
// the response, over an HTTP/1 connection or an HTTP/2 stream. In both cases the exchange
// reads the response as HTTP/1.1 bytes.
//
//	Pool       an idle connection, a new one, or an HTTP/2 stream
//	Transport  send, read, finish or discard
//	Owner      receives the events: connected, readable, drained, …
//
// HTTP/1 connections come from l7/dial. The exchanges of a loop share HTTP/2 connections
// (h2Conn), with one stream each. The protocol machine only records events. They are
// delivered to the exchanges afterwards, one by one, so that a fault in one exchange cannot
// interrupt the machine.
//
// A Pool belongs to one loop and needs no locks. It does not allocate in steady state.
package backend
