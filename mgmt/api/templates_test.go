package api_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// A built-in check can be copied, and its command sent again with any characters. The family
// writes two of them as shell lines.
func TestEveryBuiltInCheckIsCopied(t *testing.T) {
	a := newAppliance(t)
	for _, one := range probe.Templates() {
		a.must(200, "POST", "/monitoring/fg", quoteAny(map[string]string{"name": "my-" + one.Name, "copy_from": one.Name}))
		a.must(200, "PUT", "/monitoring/fg/my-"+one.Name, quoteAny(map[string]string{"command": one.Command}))
	}
	a.must(200, "PUT", "/config", a.must(200, "GET", "/config", "").raw, "Content-Type", "application/yaml")
	// Other shell lines are rejected.
	a.do("POST", "/monitoring/fg", `{"name":"other","command":"nmap -sU -p PORT HOST | sh"}`).refused(t, 400, "is for a shell")
}
