package farm

import (
	"encoding/json"
	"fmt"
)

// Challenge is an ACME challenge (RFC 8555 section 8.3). Every http farm responds to
// ChallengePath+Token with Answer. Snapshots contain the challenges of current orders.
type Challenge struct {
	Token  string `json:"token"` // letters, digits, - and _
	Answer string `json:"answer"`
}

// ChallengePath is the path prefix of tokens.
const ChallengePath = "/.well-known/acme-challenge/"

// Format and MarshalJSON omit the answer, which is not secret but useless in a log.
func (c Challenge) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "challenge %q", c.Token) }

// MarshalJSON writes only the token. Snapshots do not use JSON.
func (c Challenge) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Token string `json:"token"`
	}{c.Token})
}
