// Package client serves clients. It accepts connections, reads requests and passes them to a
// Handler. For the resulting exchange, a Client is an HTTP/1 connection or an HTTP/2 stream
// with the same interface.
//
//	Server     one loop's clients: listeners, connections, adaptation to new tables
//	Peer       a connection of either protocol
//	Client     read body, write head, write body, room, deadline, end
//	Handler    serves requests
//	Exchange   receives events: readable, drained, expired, gone
//
// A connection begins as HTTP/1 (h1Conn), after a PROXY header and TLS if the farm requires
// them. For HTTP/2 it is replaced by an h2Conn, whose streams are separate clients. Their
// responses leave together, in one write per loop turn.
//
// A Server belongs to one loop and needs no locks. It does not allocate in steady state, and
// waiting clients hold no buffer.
package client
