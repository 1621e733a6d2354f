package archtest

import (
	"slices"
	"strings"
	"testing"
)

// besides lists imports between resources of the API. Each has a reason, and none has a
// counterpart in the other direction.
var besides = map[string][]string{
	"mgmt/api/farms":   {"mgmt/api/certificates"}, // farms name certificates
	"mgmt/api/numbers": {"mgmt/api/farms"},        // statistics are listed as farms are
}

// A resource that imports another one can be neither read nor removed alone.
func TestResourcesOfTheAPIKnowTheKitOnly(t *testing.T) {
	const api, kit, state = "mgmt/api", "mgmt/api/rest", "mgmt/api/state"
	const harness = "mgmt/api/apitest" // it makes the server of all resources, for tests
	resources := 0
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.path(), api+"/") || p.path() == harness {
			continue
		}
		resources++
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, module)
			switch {
			case !ours || !within(of, []string{api}), slices.Contains(besides[p.path()], of):
			case p.path() == kit, of != kit && (of != state || p.path() == state):
				t.Errorf("%s imports %s\n\trule: the kit imports no resource; resources import the kit, state, and each other only as listed", p.path(), of)
			}
		}
	}
	if resources < 5 {
		t.Fatalf("only %d resources found: the rule would check too little", resources)
	}
}
