// Package client serves clients: it accepts connections, reads requests off them and
// has a Handler serve each. To the exchange that comes of one its Client is a
// connection of HTTP/1 or a stream of HTTP/2, and it need not know which.
//
//	Server        one loop's clients: listeners, connections, and what a new table changes for them
//	Peer          a connection, whatever is spoken on it
//	Client        read body, write head, write body, room, deadline, end
//	Handler       serves requests
//	Exchange      what it is told: readable, drained, expired, gone
//
// A connection begins as one of HTTP/1 (h1Conn), with a PROXY header and TLS before
// it where the farm wants them. When HTTP/2 turns out to be spoken there its place is
// taken by an h2Conn, whose streams are clients of their own: what they answer
// leaves together, in one write per turn of the loop.
//
// A Server belongs to one loop; nothing in it is locked. In steady state nothing is
// allocated, and a client that waits holds no buffer.
package client
