// Package doh lets layer 7 pass DNS queries over HTTPS (DoH, RFC 8484) to gslb farms.
// The engines of both run on the same loops without importing each other.
package doh

import "net/netip"

// Outcome is the result of a query.
type Outcome uint8

// The results.
const (
	Answered   Outcome = iota
	Unreadable         // not a DNS message
	Limited            // rate limit of the client's net exceeded
	Absent             // no such farm, or it is stopped
)

// Answer is a response, and how long HTTP may cache it (RFC 8484 §5.1).
type Answer struct {
	Message []byte
	Fresh   uint32 // maximum age in seconds
	Private bool   // depends on the client's location: not for shared caches
}

// Answerer handles queries.
type Answerer interface {
	// AnswerHTTPS handles a query for the gslb farm with the given name. It must be
	// called on the loop with the given index. The Answer is valid until the next call
	// on that loop.
	AnswerHTTPS(loop int, farm string, msg []byte, from netip.AddrPort) (Answer, Outcome)
}

// MaxMessage is the maximum size of a DNS message (RFC 1035 §4.2.2).
const MaxMessage = 65535
