// Package wire parses DNS queries in place and writes answers (RFC 1035 §4.1, RFC 6891). It
// allocates nothing; a Query is reused for the next message.
package wire
