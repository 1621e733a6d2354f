// Package names is how layer 7 asks gslb farms what came by HTTPS (DoH, RFC 8484): the
// engines of both run on the same loops, and neither knows the other.
package names

import "net/netip"

// Outcome is what became of a question.
type Outcome uint8

// The outcomes.
const (
	Answered   Outcome = iota
	Unreadable         // it is no message of the DNS
	Limited            // the client's net asks too often
	Absent             // there is no such farm, or it is stopped
)

// Answer is a message, and how HTTP may keep it (RFC 8484 §5.1).
type Answer struct {
	Message []byte
	Fresh   uint32 // seconds it may be kept
	Private bool   // it depends on where the client is: no other may get it
}

// Answerer answers questions.
type Answerer interface {
	// AnswerHTTPS answers a message for the gslb farm of a name, on the loop of that
	// position, where it is called. The answer is good until the next call on the loop.
	AnswerHTTPS(loop int, farm string, msg []byte, from netip.AddrPort) (Answer, Outcome)
}

// MaxMessage is the longest message there is (RFC 1035 §4.2.2).
const MaxMessage = 65535
