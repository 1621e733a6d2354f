package metrics_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/stats/statstest"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/metrics"
	"github.com/sluicelb/sluice/mgmt/syslog"
)

// setup returns a segment of two loops and a configuration of two farms.
func setup(t testing.TB) (*stats.Segment, metrics.Options) {
	t.Helper()
	s := statstest.New(t, 2)
	s.NameClasses("bad-request", "timeout")
	backend := func(id uint32, host string) farm.Backend { return farm.Backend{ID: id, Host: host, Port: 80} }
	shop := farm.DefaultHTTP()
	shop.Services = []farm.Service{
		{ID: 1, Name: "web", Backends: []farm.Backend{backend(1, "10.0.0.1"), backend(2, "10.0.0.2"), backend(3, "2001:db8::3")}},
		{ID: 2, Name: "api", Backends: []farm.Backend{backend(4, "10.0.0.1")}},
	}
	shop.Services[0].Backends[1].Maintenance = farm.MaintenanceDrain
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 5, Name: "shop", Profile: farm.ProfileHTTP, HTTP: shop}, {ID: 6, Name: "blog", HTTP: farm.DefaultHTTP()}}}
	return s, metrics.Options{
		Counters: s,
		Config:   func() (*farm.Config, uint64) { return cfg, 42 },
		Health: func(id uint32) farm.Status {
			return map[uint32]farm.Status{1: farm.StatusUp, 3: farm.StatusDown}[id]
		},
		Logs: func() accesslog.Stats {
			return accesslog.Stats{Recorded: 9, Written: 3, Full: 4, Queue: 5, Failed: 6, Restart: 7, Engine: 8}
		},
		Syslog: func() []syslog.Stats {
			return []syslog.Stats{{Target: "tcp://192.0.2.9:601", Sent: 11, Dropped: 12, Waiting: 13, Reconnects: 14, Problem: "refused"}, {Target: "udp://192.0.2.8:514"}}
		},
		Engine: func() (bool, int) { return true, os.Getpid() },
		Headroom: func(_ *farm.Farm, b *farm.Backend) headroom.Known {
			return map[uint32]headroom.Known{
				1: {Estimate: headroom.Estimate{State: headroom.Bent, Bend: 40}, Load: 10, Peak: 30},
				2: {Estimate: headroom.Estimate{State: headroom.Unbent, Carried: 8}, Load: 9},
			}[b.ID]
		},
		Certificates: func(*farm.Config) []metrics.Certificate {
			return []metrics.Certificate{{Name: "shop.pem", NotAfter: time.Unix(1_800_000_000, 0), Used: true}, {Name: "old.pem", NotAfter: time.Unix(1_700_000_000, 0)}}
		},
		Version: "1.2.3",
	}
}

// scrape returns the text of a scrape.
func scrape(t testing.TB, o metrics.Options) string {
	t.Helper()
	w := httptest.NewRecorder()
	metrics.Handler(o).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %s: %.300s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return w.Body.String()
}

func parse(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestScrapeShowsTheCounters(t *testing.T) {
	s, o := setup(t)
	for i := range 2 {
		sh := s.Shard(i)
		sh.Farm(5).Requests, sh.Farm(5).Responses[4], sh.Farm(5).Established = 10, 2, 1
		sh.Backend(3).ConnectNanos = 750_000_000
		sh.Loop().Accepted, sh.Loop().HandshakesResumed = uint64(3+i), 5
		sh.Rejections(5)[1] = 6
		sh.FarmTimes(5).FirstByte.Observe(int64(time.Millisecond))
		sh.BackendTimes(4).Total.Observe(int64(3 * time.Second))
	}
	text := scrape(t, o)
	for _, want := range []string{
		`sluice_build_info{goversion="go`, `version="1.2.3"} 1`,
		"sluice_configuration_revision 42\n",
		"sluice_engine_up 1\n",
		"sluice_certificate_expiry_timestamp_seconds{certificate=\"shop.pem\"} 1.8e+09\n", "sluice_certificate_used{certificate=\"shop.pem\"} 1\n",
		"sluice_certificate_expiry_timestamp_seconds{certificate=\"old.pem\"} 1.7e+09\n", "sluice_certificate_used{certificate=\"old.pem\"} 0\n",
		`sluice_farm_requests_total{farm="shop"} 20`,
		`sluice_farm_requests_total{farm="blog"} 0`,
		`sluice_farm_responses_total{code="5xx",farm="shop"} 4`,
		`sluice_farm_connections{farm="shop"} 2`,
		`sluice_farm_rejections_total{class="timeout",farm="shop"} 12`,
		`sluice_farm_rejections_total{class="bad-request",farm="shop"} 0`,
		`sluice_backend_connect_seconds_total{backend="[2001:db8::3]:80",farm="shop",service="web"} 1.5`,
		`sluice_backend_up{backend="[2001:db8::3]:80",farm="shop",service="web"} 0`,
		`sluice_backend_up{backend="10.0.0.1:80",farm="shop",service="api"} 1`,
		`sluice_backend_maintenance{backend="10.0.0.2:80",farm="shop",service="web"} 1`,
		`sluice_service_usable_backends{farm="shop",service="web"} 1`,
		`sluice_backend_headroom_limit_requests{backend="10.0.0.1:80",farm="shop",service="web"} 40`,
		`sluice_backend_headroom_ratio{backend="10.0.0.1:80",farm="shop",service="web"} 0.75`,
		`sluice_backend_headroom_peak_ratio{backend="10.0.0.1:80",farm="shop",service="web"} 0.25`,
		`sluice_backend_headroom_bend_seen{backend="10.0.0.1:80",farm="shop",service="web"} 1`,
		`sluice_backend_headroom_limit_requests{backend="10.0.0.2:80",farm="shop",service="web"} 8`,
		`sluice_backend_headroom_ratio{backend="10.0.0.2:80",farm="shop",service="web"} 0`,
		`sluice_backend_headroom_bend_seen{backend="10.0.0.2:80",farm="shop",service="web"} 0`,
		`sluice_loop_accepted_total{loop="0"} 3`,
		`sluice_loop_accepted_total{loop="1"} 4`,
		`sluice_loop_tls_handshakes_resumed_total{loop="1"} 5`,
		`sluice_farm_first_byte_seconds_bucket{farm="shop",le="0.000524288"} 0`,
		`sluice_farm_first_byte_seconds_bucket{farm="shop",le="0.001048576"} 2`,
		`sluice_farm_first_byte_seconds_bucket{farm="shop",le="+Inf"} 2`,
		`sluice_farm_first_byte_seconds_sum{farm="shop"} 0.002`,
		`sluice_backend_request_seconds_count{backend="10.0.0.1:80",farm="shop",service="api"} 2`,
		`sluice_backend_request_seconds_sum{backend="10.0.0.1:80",farm="shop",service="api"} 6`,
		`sluice_syslog_up{server="tcp://192.0.2.9:601"} 0`, `sluice_syslog_up{server="udp://192.0.2.8:514"} 1`, `sluice_syslog_waiting_messages{server="tcp://192.0.2.9:601"} 13`,
		`sluice_syslog_sent_messages_total{server="tcp://192.0.2.9:601"} 11`, `sluice_syslog_dropped_messages_total{server="tcp://192.0.2.9:601"} 12`,
		`sluice_syslog_reconnects_total{server="tcp://192.0.2.9:601"} 14`,
		"sluice_accesslog_records_total 9\n", "sluice_accesslog_lines_total 3\n",
		`sluice_accesslog_dropped_total{reason="ring"} 4`, `sluice_accesslog_dropped_total{reason="queue"} 5`, `sluice_accesslog_dropped_total{reason="sink"} 6`,
		`sluice_accesslog_dropped_total{reason="mgmt"} 7`, `sluice_accesslog_dropped_total{reason="engine"} 8`,
		"process_cpu_seconds_total ", "sluice_engine_process_resident_memory_bytes ", "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(text, `sluice_backend_headroom_limit_requests{backend="10.0.0.1:80",farm="shop",service="api"}`) {
		t.Error("a backend without data has a limit")
	}
}

// Every counter of core/stats must be exported.
func TestEveryCounterIsExported(t *testing.T) {
	_, o := setup(t)
	families := parse(t, scrape(t, o))
	for prefix, of := range map[string]any{"sluice_loop_": stats.Loop{}, "sluice_farm_": stats.Farm{}, "sluice_backend_": stats.Backend{}} {
		kind := reflect.TypeOf(of)
		for i := range kind.NumField() {
			f := kind.Field(i)
			if !f.IsExported() {
				continue
			}
			family := families[prefix+f.Tag.Get("metric")]
			if family == nil || family.GetHelp() != f.Tag.Get("help") {
				t.Errorf("%s.%s is not exported with its help text: %v", kind, f.Name, family)
			}
		}
	}
}

func TestNamesKeepTheConventions(t *testing.T) {
	_, o := setup(t)
	text := scrape(t, o)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "sluice_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestHistogramsAreCumulativeAndComplete(t *testing.T) {
	s, o := setup(t)
	for i := range 40 {
		s.Shard(0).FarmTimes(5).Total.Observe(1 << i)
	}
	h := parse(t, scrape(t, o))["sluice_farm_request_seconds"].Metric
	for _, m := range h {
		if m.Label[0].GetValue() != "shop" {
			continue
		}
		last := uint64(0)
		for _, b := range m.Histogram.Bucket {
			want := uint64(0)
			for i := range 40 {
				if float64(uint64(1)<<i)/1e9 <= b.GetUpperBound() {
					want++
				}
			}
			if got := b.GetCumulativeCount(); got != want || got < last {
				t.Errorf("up to %v: %d after %d, want %d", b.GetUpperBound(), got, last, want)
			}
			last = b.GetCumulativeCount()
		}
		if n := m.Histogram.GetSampleCount(); n != 40 {
			t.Errorf("%d in all", n)
		}
	}
}

func TestAThousandBackendsAreScraped(t *testing.T) {
	_, o := setup(t)
	big := farm.DefaultHTTP()
	big.Services = []farm.Service{{ID: 1, Name: "web"}}
	for i := range 1000 {
		big.Services[0].Backends = append(big.Services[0].Backends, farm.Backend{ID: uint32(i + 1), Host: fmt.Sprintf("10.1.%d.%d", i/250, i%250), Port: 80})
	}
	o.Config = func() (*farm.Config, uint64) {
		return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "big", HTTP: big}}}, 1
	}
	text := scrape(t, o)
	if n := strings.Count(text, "sluice_backend_up{"); n != 1000 {
		t.Errorf("%d backends", n)
	}
}

// With many backends their series are nearly all of a scrape, so a scraper may omit them,
// or get sums.
func TestBackendSeriesCanBeOmittedOrSummed(t *testing.T) {
	s, o := setup(t)
	for id, n := range map[uint32]int{1: 3, 2: 4, 4: 7} {
		for range n {
			b := s.Shard(0).Backend(id)
			b.Requests++
			b.Responses[1]++
			s.Shard(0).BackendTimes(id).Total.Observe(int64(time.Second))
		}
	}
	ask := func(query string) (int, string) {
		w := httptest.NewRecorder()
		metrics.Handler(o).ServeHTTP(w, httptest.NewRequest("GET", "/metrics"+query, nil))
		return w.Code, w.Body.String()
	}
	for _, query := range []string{"", "?backends=all"} {
		if _, text := ask(query); !strings.Contains(text, `sluice_backend_requests_total{backend="10.0.0.1:80",farm="shop",service="web"} 3`) {
			t.Errorf("%q: a backend is missing", query)
		}
	}
	if _, text := ask("?backends=none"); strings.Contains(text, "\nsluice_backend_") || !strings.Contains(text, `sluice_service_usable_backends{farm="shop",service="web"} 1`) {
		t.Error("without backends there are some, or no services")
	}
	_, text := ask("?backends=service")
	for _, want := range []string{
		`sluice_backend_requests_total{backend="",farm="shop",service="web"} 7`, `sluice_backend_requests_total{backend="",farm="shop",service="api"} 7`,
		`sluice_backend_responses_total{backend="",code="2xx",farm="shop",service="web"} 7`, `sluice_backend_request_seconds_count{backend="",farm="shop",service="web"} 7`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("summed there is no %s", want)
		}
	}
	if strings.Contains(text, "10.0.0.1") || strings.Contains(text, "sluice_backend_up{") {
		t.Error("summed there are single backends")
	}
	if code, text := ask("?backends=some"); code != 400 || !strings.Contains(text, "allowed are all, service, none") {
		t.Errorf("%d %s", code, text)
	}
}

// Labels identify a backend by its address, and series with the same labels are an error
// for scrapers.
func TestBackendsAtOneAddressShareTheirSeries(t *testing.T) {
	s, o := setup(t)
	cfg, _ := o.Config()
	web := &cfg.Farms[0].HTTP.Services[0]
	twin := web.Backends[0]
	twin.ID = 9
	web.Backends = append(web.Backends, twin)
	s.Shard(0).Backend(1).Requests, s.Shard(1).Backend(9).Requests = 3, 4
	s.Shard(1).BackendTimes(9).Total.Observe(int64(time.Second))
	text := scrape(t, o)
	for _, want := range []string{
		`sluice_backend_requests_total{backend="10.0.0.1:80",farm="shop",service="web"} 7`,
		`sluice_backend_request_seconds_count{backend="10.0.0.1:80",farm="shop",service="web"} 1`,
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s occurs %d times", want, strings.Count(text, want))
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, "} "); strings.HasPrefix(line, "sluice_") && seen[name] {
			t.Errorf("twice: %s", line)
		} else {
			seen[name] = true
		}
	}
}

func TestScrapesAreCompressedForScrapersThatAcceptIt(t *testing.T) {
	_, o := setup(t)
	for accepted, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "": ""} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept-Encoding", accepted)
		w := httptest.NewRecorder()
		metrics.Handler(o).ServeHTTP(w, r)
		body := io.Reader(w.Body)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("%q: encoding %q", accepted, got)
		} else if got != "" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := io.ReadAll(body); err != nil || !strings.Contains(string(text), "sluice_backend_up{") {
			t.Errorf("%q: %v, %d bytes", accepted, err, len(text))
		}
	}
}

func TestScrapesAtOnceAreBounded(t *testing.T) {
	_, o := setup(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		config := o.Config
		o.Config = func() (*farm.Config, uint64) { <-release; return config() }
		h := metrics.Handler(o)
		ask := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			return w
		}
		codes := make(chan int, 8)
		for range 4 {
			go func() { codes <- ask().Code }()
		}
		synctest.Wait()
		if w := ask(); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("the fifth: %d %v", w.Code, w.Header())
		}
		close(release)
		for range 4 {
			if code := <-codes; code != 200 {
				t.Errorf("one of four: got %d, want 200", code)
			}
		}
		if w := ask(); w.Code != 200 {
			t.Errorf("afterwards: got %d, want 200", w.Code)
		}
	})
}
