package farm

import (
	"encoding/json"
	"fmt"
)

// Challenge is a question of a certification authority (ACME, RFC 8555 section
// 8.3) and what it is answered with, on every http farm: who asks for
// ChallengePath+Token gets Answer. Snapshots hold those of orders under way.
type Challenge struct {
	Token  string `json:"token"` // letters, digits, - and _
	Answer string `json:"answer"`
}

// ChallengePath is where tokens are asked for.
const ChallengePath = "/.well-known/acme-challenge/"

// Format and MarshalJSON leave out the answer: it is no secret, but nobody who
// reads a log needs it either.
func (c Challenge) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "challenge %q", c.Token) }

// MarshalJSON writes the token alone. Snapshots are no JSON.
func (c Challenge) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Token string `json:"token"`
	}{c.Token})
}
