package http1

import "github.com/sluicelb/sluice/core/farm"

// Verb is a request method we know by name.
type Verb uint8

// VerbMask is a set of verbs, one bit each.
type VerbMask uint64

// In reports whether set holds v. VerbOther is in no set.
func (v Verb) In(set VerbMask) bool { return set>>v&1 != 0 }

// VerbMaskOf gives the verbs of a farm's set; a set without a known name is empty.
func VerbMaskOf(set farm.VerbSet) VerbMask { return 0 }

// The verbs. CONNECT is refused by Parse and therefore has no number.
const (
	VerbOther Verb = iota
	VerbGET
	VerbPOST
	VerbHEAD
	VerbPUT
	VerbPATCH
	VerbDELETE
	VerbOPTIONS
	VerbTRACE
)

// Idempotent reports whether RFC 9110 section 9.2.2 lets a request with v be
// repeated after the connection failed.
func (v Verb) Idempotent() bool { return false }
