package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/contracttest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/audit"
)

// mostInPart bounds the size of a page: a thousand items of the longest kind. slowest is
// far above any real duration, and far below the timeout of clients.
const (
	mostInPart = 4 << 20
	slowest    = 10 * time.Second
)

// many fills an appliance with n audit lines, n backends or the possible maximum, and a
// thousand revisions. The last revision contains all of them. It returns the number of
// backends per farm.
func (a *appliance) many(t *testing.T, n int, kept *audit.Log) (each int) {
	t.Helper()
	backends := min(n, farm.MaxBackendID) / 2 * 2
	for i := range 1000 {
		a.must(200, "PUT", "/farms/shop", fmt.Sprintf(`{"contimeout":%d}`, 1+i%2))
	}
	_, err := a.applier.Change(t.Context(), apply.Author{Name: "root"}, "many", 0, func(cfg *farm.Config) error {
		web, dns := cfg.Farm("shop").HTTP, cfg.Farm("dns").L4
		for i := range backends {
			host := fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255)
			slot := uint32(i + 1)
			if i%2 == 0 {
				web.Services[0].Backends = append(web.Services[0].Backends, farm.Backend{ID: 1000 + slot, Slot: slot, Host: host, Port: 8080})
			} else {
				dns.Backends = append(dns.Backends, farm.Backend{ID: 1000 + slot, Slot: slot, Host: host, Port: 53})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		kept.Add(audit.Entry{User: "root", Source: "198.51.100.7", Method: "PUT", Path: fmt.Sprintf("/api/v4.0/farms/shop/services/web/backends/%d", i), Status: 200, Message: "Modify a backend"})
	}
	for i := range 10 {
		a.must(200, "PUT", "/farms/shop", fmt.Sprintf(`{"contimeout":%d}`, 1+i%2))
	}
	return backends / 2
}

// A page of a list is returned in bounded time, however long the list is. A page beyond the
// end is empty, and too large a limit is rejected.
func TestListsOfManyThingsAreAnsweredInParts(t *testing.T) {
	n := 2000
	if contracttest.Long() {
		n = 100_000
	}
	var kept *audit.Log
	a := newAppliance(t, func(d *apitest.Parts) {
		kept = d.Audit.(*audit.Log)
		d.Traffic.SessionTable = &sessionTable{}
	})
	a.shop(0)
	a.dns(0)
	each := a.many(t, n, kept)
	const web = "/farms/shop/services/web/backends"
	for _, c := range []struct {
		path  string // with a limit, which is appended
		total int    // the expected total; 0: absent
	}{
		{web + "?offset=0&", each}, {fmt.Sprintf("%s?offset=%d&", web, each-10), each}, {web + "?status=undefined&", each}, {web + "?status=down&", 0},
		{"/farms/dns/backends?offset=7&", each}, {"/farms?", 2}, {"/stats/farms?", 2},
		{"/audit?", 0}, {"/history?", 0},
	} {
		for _, limit := range []int{1, 50, 1000} {
			r, took := a.timed(fmt.Sprintf("%slimit=%d", c.path, limit))
			if r.status != 200 || len(r.raw) > mostInPart || took > slowest {
				t.Fatalf("%slimit=%d: %d, %d bytes in %s: %.300s", c.path, limit, r.status, len(r.raw), took, r.raw)
			}
			var body struct {
				Params, Farms []json.RawMessage
				Total         *int
			}
			if err := json.Unmarshal([]byte(r.raw), &body); err != nil || len(body.Params)+len(body.Farms) > limit {
				t.Errorf("%slimit=%d: %v, %d things", c.path, limit, err, len(body.Params)+len(body.Farms))
			}
			if c.total > 0 && (body.Total == nil || *body.Total != c.total) {
				t.Errorf("%slimit=%d: the total is %v, want %d", c.path, limit, body.Total, c.total)
			}
			t.Logf("%slimit=%d: %d bytes in %s", c.path, limit, len(r.raw), took)
		}
	}
	for path, status := range map[string]int{web + "?limit=10001": 400, web + "?limit=0": 400, web + "?offset=99999999999": 400, "/audit?limit=1001": 400, "/history?limit=1001": 400} {
		a.must(status, "GET", path, "")
	}
	if r := a.must(200, "GET", fmt.Sprintf("%s?offset=%d&limit=10", web, each), ""); len(r.at("params").([]any)) != 0 {
		t.Errorf("behind the end: %.300s", r.raw)
	}
	for _, whole := range []string{web, "/farms/shop", "/stats/farms/shop", "/ids", "/status"} { // whole lists
		r, took := a.timed(whole)
		if r.status != 200 || took > slowest {
			t.Errorf("%s: %d in %s", whole, r.status, took)
		}
		t.Logf("%s: %d bytes in %s", whole, len(r.raw), took)
	}
}

// timed reads a path and measures the time.
func (a *appliance) timed(path string) (reply, time.Duration) {
	a.t.Helper()
	r := httptest.NewRequest("GET", api.Base+path, strings.NewReader(""))
	r.Header.Set("ZAPI_KEY", a.key)
	w, began := httptest.NewRecorder(), time.Now()
	a.server.Handler().ServeHTTP(w, r)
	took := time.Since(began)
	out := reply{status: w.Code, raw: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &out.body); err != nil {
		a.t.Errorf("%s: %v", path, err)
	}
	return out, took
}
