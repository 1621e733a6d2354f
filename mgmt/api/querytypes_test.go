package api_test

import (
	"encoding/json"
	"testing"
)

// Programs generated from the document send numbers for numeric parameters.
func TestParametersThatAreNumbersAreIntegersInTheDocument(t *testing.T) {
	a := newAppliance(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				In, Name string
				Schema   struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal([]byte(a.must(200, "GET", "/openapi.json", "").raw), &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			for _, p := range o.Parameters {
				switch p.Name {
				case "limit", "offset", "seconds", "most":
					seen[p.Name]++
					if p.In == "query" && p.Schema.Type != "integer" {
						t.Errorf("%s %s: %s is of type %q", method, path, p.Name, p.Schema.Type)
					}
				}
			}
		}
	}
	for _, name := range []string{"limit", "offset", "seconds", "most"} {
		if seen[name] == 0 {
			t.Errorf("no operation has %s", name)
		}
	}
}
