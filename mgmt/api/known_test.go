//go:build !race

// The race detector takes a quarter of a minute here and finds nothing, because this is
// about names.

package api_test

import (
	"strings"
	"testing"
)

// A body built from the documented schema is never rejected for its field names.
func TestEveryDocumentedFieldIsKnown(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.rules()
	bodies := 0
	d := readDoc(t, a)
	for path, verbs := range d.Paths {
		for verb, o := range verbs {
			if o.RequestBody == nil || strings.HasPrefix(path, "/config") || o.RequestBody.Content["application/octet-stream"].Schema.Type != nil {
				continue // documents and files have no fields
			}
			bodies++
			s := d.body(o)
			if s.AdditionalProperties != false || len(s.Properties) == 0 {
				t.Errorf("%s %s: the schema is open or empty", verb, path)
			}
			at := filled(path)
			a := newAppliance(t)
			a.shop(1)
			a.rules()
			a.dns(1)
			a.gslb()
			a.people()
			for name := range s.Properties {
				if name == "newfarmname" || path == "/system/users" && name == "zapikey" {
					continue // would delete the test's farm, or root's access to the API
				}
				r := a.do(strings.ToUpper(verb), at, sample(s, name))
				if message, _ := r.body["message"].(string); strings.Contains(message, "unknown field") || r.status >= 500 {
					t.Errorf("%s %s: field %s: %d %s", verb, path, name, r.status, message)
				}
			}
			if r := a.do(strings.ToUpper(verb), at, sample(s, "nonsense")); !strings.Contains(r.raw, "nonsense") || r.status != 400 {
				t.Errorf("%s %s accepts a field that is not documented: %d %s", verb, path, r.status, r.raw)
			}
		}
	}
	if bodies < 10 {
		t.Errorf("only %d bodies documented", bodies)
	}
}
