package metrics_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats/statstest"
	"github.com/sluicelb/sluice/mgmt/metrics"
)

// A scrape of ten thousand backends in a hundred farms, in each degree of detail. The
// figures besides time and memory are the bytes sent.
func BenchmarkScrape(b *testing.B) {
	const farms, backends = 100, 100
	cfg := &farm.Config{}
	for i := range uint32(farms) {
		web := farm.Service{ID: i + 1, Name: "web"}
		for k := range uint32(backends) {
			id := i*backends + k + 1
			web.Backends = append(web.Backends, farm.Backend{ID: id, Host: fmt.Sprintf("10.0.%d.%d", i, k), Port: 80})
		}
		shop := farm.DefaultHTTP()
		shop.Services = []farm.Service{web}
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: i + 1, Name: fmt.Sprintf("shop%d", i), Profile: farm.ProfileHTTP, HTTP: shop})
	}
	o := metrics.Options{
		Counters: statstest.New(b, 2),
		Config:   func() (*farm.Config, uint64) { return cfg, 1 },
		Health:   func(uint32) farm.Status { return farm.StatusUp },
	}
	h := metrics.Handler(o)
	for _, detail := range []string{"all", "service", "none"} {
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(detail+"/"+encoding, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest("GET", "/metrics?backends="+detail, nil)
					r.Header.Set("Accept-Encoding", encoding)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != 200 {
						b.Fatal(w.Code, w.Body)
					}
					b.ReportMetric(float64(w.Body.Len()), "bytes/scrape")
				}
			})
		}
	}
}
