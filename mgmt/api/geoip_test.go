package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/geoip/geoiptest"
)

func TestAGeoIPDatabaseIsUploadedAskedAndDeleted(t *testing.T) {
	a := newAppliance(t)
	const path = "/system/geoip"
	want := func(status int, method, path, body, says string) {
		t.Helper()
		r := a.do(method, path, body, "Content-Type", "application/octet-stream")
		if r.status != status || !strings.Contains(strings.ReplaceAll(r.raw, `": `, `":`), says) {
			t.Errorf("%s %s: %d %s, want %d %q", method, path, r.status, r.raw, status, says)
		}
	}
	want(http.StatusOK, "GET", path, "", `"installed":"false"`)
	want(http.StatusNotFound, "GET", path+"/192.0.2.1", "", "there is no GeoIP database")
	want(http.StatusNotFound, "DELETE", path, "", "there is no GeoIP database")
	want(http.StatusBadRequest, "PUT", path, "text", "is not taken: it is no database in the MaxMind DB format")
	want(http.StatusOK, "PUT", path, string(geoiptest.Database(t, "Test-City",
		geoiptest.Place{Net: "192.0.2.0/24", Country: "DE", Continent: "EU", At: []float64{48.14, 11.58}})), `"countries_known":1`)
	want(http.StatusBadRequest, "PUT", path, "text", "is not taken")
	want(http.StatusOK, "GET", path, "", `"kind":"Test-City"`)
	want(http.StatusOK, "GET", path+"/192.0.2.77", "", `"coordinates":"48.1400,11.5800"`)
	want(http.StatusOK, "GET", path+"/192.0.3.1", "", `"known":"false"`)
	want(http.StatusBadRequest, "GET", path+"/here", "", "is no address: send one as 192.0.2.1")
	a.gslb()
	a.must(http.StatusCreated, "POST", "/farms/names/services", `{"id":"near","algorithm":"nearest"}`)
	want(http.StatusBadRequest, "DELETE", path, "", "is used by the service near of the farm names")
	a.must(http.StatusOK, "PUT", "/farms/names/services/near", `{"algorithm":"geo"}`)
	a.must(http.StatusCreated, "POST", "/farms/names/services/near/backends", `{"ip":"192.0.2.81","countries":["de"],"coordinates":" 48.1, 11.5 "}`)
	if r := a.must(http.StatusOK, "GET", "/farms/names", ""); !strings.Contains(r.raw, "DE") || !strings.Contains(r.raw, "48.1,11.5") {
		t.Errorf("%s", r.raw)
	}
	want(http.StatusBadRequest, "DELETE", path, "", "is used by the service near")
	for wrong, says := range map[string]string{
		`{"countries":["DEU"]}`: "at most 2 bytes", `{"countries":["D1"]}`: "two letters", `{"continents":["XX"]}`: "AF, AN, AS, EU, NA, OC, SA", `{"coordinates":"91,0"}`: "as 48.14,11.58", `{"coordinates":"NaN,1"}`: "as 48.14,11.58", `{"coordinates":"48"}`: "as 48.14,11.58",
	} {
		if r := a.must(http.StatusBadRequest, "PUT", "/farms/names/services/near/backends/1", wrong); !strings.Contains(r.raw, says) {
			t.Errorf("%s: %s", wrong, r.raw)
		}
	}
	a.must(http.StatusOK, "PUT", "/farms/names/services/near/backends/1?confirm=1h", `{"countries":null}`)
	want(http.StatusBadRequest, "DELETE", path, "", "would need it again if it is not confirmed")
	want(http.StatusBadRequest, "DELETE", path+"?dry_run=true", "", "would need it again if it is not confirmed")
	_, pending := a.applier.Current()
	a.must(http.StatusOK, "POST", fmt.Sprintf("/history/%d/confirm", pending.Number), "")
	want(http.StatusOK, "DELETE", path+"?dry_run=true", "", "")
	want(http.StatusOK, "GET", path, "", `"installed":"true"`)
	want(http.StatusOK, "DELETE", path, "", "has been deleted")
	want(http.StatusOK, "GET", path, "", `"installed":"false"`)
}
