package farm

import (
	"encoding/json"
	"fmt"
)

// Format writes the name alone, whatever the verb: a configuration that ends up
// in a message or a log line by mistake does not take private keys there.
func (c Certificate) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "certificate %q", c.Name) }

// MarshalJSON leaves out the private key, for the same reason. Snapshots are
// no JSON.
func (c Certificate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name string `json:"name"`
	}{c.Name})
}
