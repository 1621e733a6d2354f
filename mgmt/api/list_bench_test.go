package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

// fill creates http farms, each with a service of that many backends.
func (a *appliance) fill(farms, backends int) {
	a.t.Helper()
	var text strings.Builder
	text.WriteString("farms:\n")
	for i := range farms {
		fmt.Fprintf(&text, "- {name: farm%04d, profile: http, vip: 192.0.2.10, vport: %d, services: [{name: web, backends: [", i, 1024+i)
		for k := range backends {
			fmt.Fprintf(&text, "{ip: 10.%d.%d.%d, port: 8080},", i>>8, i&255, k+1)
		}
		text.WriteString("]}]}\n")
	}
	if r := a.do("PUT", "/config", text.String(), "Content-Type", "application/yaml"); r.status != 200 {
		a.t.Fatal(r.raw)
	}
}

// BenchmarkRead measures reads, from the front to the last byte, with 1,000 farms of ten
// backends.
func BenchmarkRead(b *testing.B) {
	a := newAppliance(b)
	a.fill(1000, 10)
	for _, path := range []string{"/farms", "/farms/farm0500", "/stats/farms", "/status"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				r := httptest.NewRequest("GET", api.Base+path, nil)
				r.Header.Set("ZAPI_KEY", a.key)
				w := httptest.NewRecorder()
				a.server.Handler().ServeHTTP(w, r)
				if size = w.Body.Len(); w.Code != 200 {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(size), "bytes/answer")
		})
	}
}

// BenchmarkChangeOfMany changes one of 1,000 farms of ten backends.
func BenchmarkChangeOfMany(b *testing.B) {
	a := newAppliance(b)
	a.fill(1000, 10)
	for i := 0; b.Loop(); i++ {
		a.must(200, "PUT", "/farms/farm0500", fmt.Sprintf(`{"contimeout":%d}`, 1+i%10))
	}
}
