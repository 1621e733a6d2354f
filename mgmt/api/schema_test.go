package api_test

import "testing"

// The schema is an ordinary route: documented, and only with a key.
func TestTheSchemaIsServedToWhoMayRead(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", "/schema", "")
	r.want(t, "$schema", "https://json-schema.org/draft/2020-12/schema")
	r.want(t, "$defs.service.properties.queue_timeout.x-unit", "s")
	r.want(t, "$defs.settings.properties.resolve_min_ttl.default", 5.0)
	if readDoc(t, a).Paths["/schema"]["get"].OperationID == "" {
		t.Error("it is not in the document")
	}
}
