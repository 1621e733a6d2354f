package api_test

import (
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
)

// The description of all operations is most of mgmt's memory. Each base builds it on its
// first request, and the parts that only the OpenAPI document needs when that is first
// read.
func TestOperationsAreDescribedForWhoAsks(t *testing.T) {
	var deps apitest.Parts
	a := newAppliance(t, func(d *apitest.Parts) { deps = *d })
	made := allocated(func() {
		s, err := deps.Server()
		if err != nil {
			t.Fatal(err)
		}
		a.server = s
	})
	first := allocated(func() { a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", a.key) })
	later := allocated(func() { a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", a.key) })
	family := allocated(func() { a.send("GET", api.FamilyBase+"/farms", "", "ZAPI_KEY", a.key) })
	t.Logf("KiB: at start %d, for the first request %d, a later one %d, the family's first %d", made>>10, first>>10, later>>10, family>>10)
	if made > first/4 || later > first/4 || family < first/2 {
		t.Error("descriptions are not built by the first caller only")
	}
}

func TestThoseWhoAskFirstTogetherAreAllAnswered(t *testing.T) {
	a := newAppliance(t)
	var all sync.WaitGroup
	for range 3 {
		for _, path := range []string{"/farms", "/openapi.json"} {
			for _, base := range []string{api.Base, api.FamilyBase} {
				all.Go(func() {
					r, w := httptest.NewRequest("GET", base+path, nil), httptest.NewRecorder()
					r.Header.Set("ZAPI_KEY", a.key)
					if a.server.Handler().ServeHTTP(w, r); w.Code != 200 {
						t.Errorf("%s: %d %s", base+path, w.Code, w.Body)
					}
				})
			}
		}
	}
	all.Wait()
}

// allocated returns the number of bytes allocated while f runs, including concurrent
// allocations.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
