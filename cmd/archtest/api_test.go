package archtest

import (
	"slices"
	"strings"
	"testing"
)

// besides is what resources of the API may import of it besides the kit, each for
// a reason that points one way.
var besides = map[string][]string{
	"mgmt/api/farms":   {"mgmt/api/certificates"}, // farms name certificates
	"mgmt/api/numbers": {"mgmt/api/farms"},        // statistics are listed as farms are
}

// A resource that knew another one could not be read, or taken away, alone.
func TestResourcesOfTheAPIKnowTheKitOnly(t *testing.T) {
	const api, kit, state = "mgmt/api", "mgmt/api/rest", "mgmt/api/state"
	resources := 0
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.path(), api+"/") {
			continue
		}
		resources++
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, module)
			switch {
			case !ours || !within(of, []string{api}), slices.Contains(besides[p.path()], of):
			case p.path() == kit, of != kit && (of != state || p.path() == state):
				t.Errorf("%s imports %s\n\trule: the kit knows no resource, and resources know it, state, and each other only as listed", p.path(), of)
			}
		}
	}
	if resources < 5 {
		t.Fatalf("only %d resources found: the rule would prove nothing", resources)
	}
}
