// Package syslog sends messages to syslog servers (RFC 5424).
//
// # The way of a message
//
//	Origin    writes a Message as bytes: header, structured data, text
//	Conn      the way to one server, with a pause after each failure
//	Sender    a Conn with a queue in front of it and a goroutine of its own
//	Remote    the servers of the appliance: each message goes to all of them
//	Handler   what is logged goes to a Remote as well
//
// Messages travel as datagrams (RFC 5426), over TCP with their length before
// them (RFC 6587 section 3.4.1), the same over TLS (RFC 5425), or to a socket of
// this machine. Access logs, which have queues of their own (mgmt/accesslog), use
// Origin and Conn.
//
// # Bounds
//
// Who sends never waits. A queue has a number of messages and of bytes; when it
// is full the oldest go, or the new ones, and are counted. That is logged once,
// and the server is told how many when it takes messages again. A datagram has
// MaxDatagram bytes at most, a message of a stream MaxStream: what is longer is cut,
// its text first.
//
// # Injection
//
// Control characters and what is no UTF-8 are written as \x0a and the like, in the
// text and in values of structured data, so that a message is one line wherever
// it is kept. Texts have no byte order mark before them: receivers show it.
package syslog
