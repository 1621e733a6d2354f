// Package wire reads queries of the DNS in place, and writes answers (RFC 1035 §4.1,
// RFC 6891). Nothing here allocates; what a query says is in a Query that is used
// again for the next one.
package wire
