// Package backend gets exchanges answered: a Transport carries its request to a
// backend and the answer back, over a connection of HTTP/1 or a stream of HTTP/2.
// To the exchange both give the answer as bytes of HTTP/1.1.
//
//	Pool          an idle connection, a new one, or a stream on one of HTTP/2
//	Transport     send, read, finish or discard
//	Owner         what the exchange is told: connected, readable, drained, …
//
// Connections of HTTP/1 come from l7/dial. A connection of HTTP/2 (h2Conn) is
// shared by the exchanges of a loop, each of which has a stream on it. What the
// backend says there is only noted within the protocol machine; the exchanges hear
// of it afterwards, one by one, so that a mistake in one of them cannot leave the
// machine in the middle of something.
//
// A Pool belongs to one loop; nothing in it is locked. In steady state nothing is
// allocated.
package backend
