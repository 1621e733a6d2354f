// Package syslog sends messages to syslog servers (RFC 5424).
//
// # The way of a message
//
//	Origin    encodes a Message: header, structured data, text
//	Conn      the connection to one server, with a pause after each failure
//	Sender    a Conn with a queue and a goroutine
//	Remote    the servers of the appliance: each message goes to all of them
//	Handler   passes log records to a Remote as well
//
// Messages are sent as datagrams (RFC 5426), over TCP with octet counting (RFC 6587
// section 3.4.1), the same over TLS (RFC 5425), or to a unix socket. Access logs, which
// have their own queues (mgmt/accesslog), use Origin and Conn.
//
// # Bounds
//
// Senders never wait. A queue is bounded in messages and bytes. If it is full, the oldest
// or the newest messages are dropped and counted. That is logged once, and the server
// gets a message with the number when it is reachable again. A datagram has at most
// MaxDatagram bytes, a message on a stream MaxStream. Longer ones are truncated, the text
// first.
//
// # Injection
//
// Control characters and invalid UTF-8 are written as \x0a etc., in the text and in
// values of structured data, so that a message is a single line. Texts have no byte order
// mark, because receivers display it.
package syslog
