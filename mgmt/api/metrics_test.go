package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	records "github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// scraped returns the response to a scrape; headers come in pairs.
func scraped(a *appliance, method, remote string, headers ...string) (int, string) {
	r := httptest.NewRequest(method, "https://lb.example:444/metrics", nil)
	r.RemoteAddr = remote
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.server.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestScrapesNeedAKeyUnlessTheOperatorOpensThemToThisMachine(t *testing.T) {
	const here, here6, there = "127.0.0.1:4000", "[::1]:4000", "198.51.100.7:4000"
	text := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "sluice_up 1\n") })
	closed := newAppliance(t, func(d *apitest.Parts) { d.Host.Metrics = text })
	opened := newAppliance(t, func(d *apitest.Parts) { d.Host.Metrics, d.Host.OpenMetrics = text, true })
	for _, c := range []struct {
		name    string
		a       *appliance
		method  string
		remote  string
		headers []string
		want    int
	}{
		{"no key", closed, "GET", there, nil, 401},
		{"no key, from here", closed, "GET", here, nil, 401},
		{"a key", closed, "GET", there, []string{"ZAPI_KEY", closed.key}, 200},
		{"a bearer token", closed, "GET", there, []string{"Authorization", "Bearer " + closed.key}, 200},
		{"a wrong bearer token", closed, "GET", there, []string{"Authorization", "Bearer x"}, 401},
		{"basic", closed, "GET", there, []string{"Authorization", "Basic " + closed.key}, 401},
		{"a wrong key beside a right token", closed, "GET", there, []string{"Authorization", "Bearer " + closed.key, "ZAPI_KEY", "x"}, 401},
		{"opened, from here", opened, "GET", here, nil, 200},
		{"opened, from here by IPv6", opened, "GET", here6, nil, 200},
		{"opened, from there", opened, "GET", there, nil, 401},
		{"opened, through a proxy here", opened, "GET", here, []string{"X-Forwarded-For", "198.51.100.7"}, 401},
		{"opened, with a wrong key", opened, "GET", here, []string{"ZAPI_KEY", "x"}, 401},
		{"opened, a page of another site", opened, "POST", here, []string{"Origin", "https://evil.example"}, 403},
		{"a change", closed, "POST", there, []string{"ZAPI_KEY", closed.key}, 405},
	} {
		status, body := scraped(c.a, c.method, c.remote, c.headers...)
		if status != c.want || (status == 200) != (body == "sluice_up 1\n") {
			t.Errorf("%s: %d %q, want %d", c.name, status, body, c.want)
		}
	}
	if status, _ := scraped(newAppliance(t), "GET", there, "ZAPI_KEY", "x"); status != 401 {
		t.Errorf("without metrics: %d", status)
	}
	if got := opened.do("GET", "/farms", "").status; got != 200 {
		t.Fatalf("the API: %d", got)
	}
	r := httptest.NewRequest("GET", "https://lb.example:444"+api.Base+"/farms", nil)
	r.RemoteAddr = here
	r.Header.Set("Authorization", "Bearer "+opened.key)
	w := httptest.NewRecorder()
	opened.server.Handler().ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("a bearer token opens the rest of the API: %d", w.Code)
	}
}

func TestWhatAScrapeMayBe(t *testing.T) {
	text := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "sluice_up 1\n") })
	a := newAppliance(t, func(d *apitest.Parts) { d.Host.Metrics, d.Host.OpenMetrics = text, true })
	r := a.send("DELETE", api.MetricsPath, "", "ZAPI_KEY", a.key)
	r.refused(t, 405, "/metrics", "DELETE", "allowed is GET")
	if got := r.header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("allowed is %q", got)
	}
	if status, _ := scraped(a, "HEAD", "198.51.100.7:4000", "ZAPI_KEY", a.key); status != 200 {
		t.Errorf("HEAD: %d", status)
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if status, _ := scraped(a, "GET", "127.0.0.1:4000", header, "x"); status != 401 {
			t.Errorf("through a proxy here that sends %s: %d", header, status)
		}
	}
	key, on := "annsKey0123456789", true
	if err := errors.Join(a.users.AddUser("ann", rbac.LDAP, ""), a.users.AddGroup("shop"), a.users.Join("shop", "ann"), a.users.GiveRole("shop", "management"),
		a.users.ChangeUser("ann", rbac.UserChange{Key: &key, API: &on})); err != nil {
		t.Fatal(err)
	}
	a.send("GET", api.MetricsPath, "", "ZAPI_KEY", key).refused(t, 403, `the permission "system-service.menu" is needed`)
	if err := a.users.GiveRole("shop", "monitoring"); err != nil {
		t.Fatal(err)
	}
	a.send("GET", api.MetricsPath, "", "ZAPI_KEY", key).refused(t, 403, "all farms") // without any farm, a group does not see all farms
	a.shop(1)
	if err := a.users.AddFarm("shop", a.config().Farm("shop").ID); err != nil {
		t.Fatal(err)
	}
	if r := a.send("GET", api.MetricsPath, "", "ZAPI_KEY", key); r.status != 200 {
		t.Errorf("user who may see the system: %d", r.status)
	}
}

// watchable gives the API a pump and returns functions that feed it.
func watchable(t *testing.T) (change func(*apitest.Parts), put func(fill func(*records.Entry)), set func(*farm.Config)) {
	t.Helper()
	f, err := shm.Shared("test", records.SegmentSize)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	event, err := shm.Event("test")
	if err != nil {
		t.Fatal(err)
	}
	segment, err := records.OpenSegment(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := &farm.Config{}
	pump := accesslog.New(accesslog.Options{
		Segment: segment, Wake: event, Data: data, Config: func() *farm.Config { return cfg }, Classes: func() []string { return nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
		event.Close()
		m.Close()
		f.Close()
		data.Close()
	})
	w := segment.Writer(0, nobody{})
	start := func(c *farm.Config) {
		cfg = c
		go func() { defer close(ended); pump.Run(ctx) }()
	}
	return func(d *apitest.Parts) { d.Traffic.Watch, d.Traffic.Tally = pump.Watch, pump.Tally }, func(fill func(*records.Entry)) {
		var e records.Entry
		e.Begin()
		e.Farm, e.Flags = 1, records.Watched
		fill(&e)
		w.Put(&e)
	}, start
}

type nobody struct{}

func (nobody) Wake() {}

func TestExchangesOfAFarmAreStreamedUntilTheClientLeaves(t *testing.T) {
	change, record, start := watchable(t)
	put := func(path string, status uint16) {
		record(func(e *records.Entry) { e.Status = status; e.Path([]byte(path)) })
	}
	a := newAppliance(t, change)
	a.shop(1)
	cfg, _ := a.applier.Current()
	start(cfg)
	srv := httptest.NewServer(a.server.Handler())
	defer srv.Close()
	open := func(query string) (*http.Response, *bufio.Scanner, context.CancelFunc) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, _ := http.NewRequestWithContext(ctx, "GET", srv.URL+api.Base+"/farms/shop/trace"+query, nil)
		r.Header.Set("ZAPI_KEY", a.key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		if resp.StatusCode == 200 && (!lines.Scan() || lines.Text() != ": watching") {
			t.Fatalf("it begins with %q", lines.Text())
		}
		return resp, lines, cancel
	}
	data := func(lines *bufio.Scanner) string {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return text
			}
		}
		return ""
	}
	resp, all, leave := open("")
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	filtered, bad, leaveToo := open("?status=5xx&path=/a")
	defer filtered.Body.Close()
	put("/a/1?token=secret", 200)
	put("/b", 500)
	put("/a/2", 502)
	for _, want := range []string{`"path":"/a/1?token=***"`, `"path":"/b"`, `"path":"/a/2"`} {
		if got := data(all); !strings.Contains(got, want) || !strings.Contains(got, `"farm":"shop"`) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := data(bad); !strings.Contains(got, `"path":"/a/2"`) {
		t.Errorf("filtered: %s", got)
	}
	leave()
	leaveToo()
	secret, key, err := a.store.CreateKey("root", "to be deleted")
	if err != nil {
		t.Fatal(err)
	}
	was := a.key
	a.key = secret
	gone, rest, _ := open("")
	defer gone.Body.Close()
	a.key = was
	a.must(200, "DELETE", "/keys/"+strconv.FormatUint(key.ID, 10), "")
	if got := data(rest); got != "" || rest.Err() != nil {
		t.Errorf("a stream with a deleted key continues with %q, %v", got, rest.Err())
	}

	var held []context.CancelFunc
	for range accesslog.MaxWatchers { // as soon as the previous ones are gone
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			resp, _, leave := open("")
			defer resp.Body.Close()
			held = append(held, leave)
			if resp.StatusCode == 200 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("status %d: slots are not released", resp.StatusCode)
			}
		}
	}
	resp, _, leave = open("")
	defer resp.Body.Close()
	if resp.StatusCode != 503 {
		t.Errorf("one more is answered %d", resp.StatusCode)
	}
	leave()
	for _, leave := range held {
		leave()
	}
}

func TestTraceRefusesWhatItCannotFollow(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.do("GET", "/farms/shop/trace", "").refused(t, 400, "cannot be watched")
	change, _, start := watchable(t)
	a = newAppliance(t, change)
	start(&farm.Config{})
	a.shop(1)
	a.do("GET", "/farms/none/trace", "").refused(t, 404, "none")
	a.do("GET", "/farms/shop/trace?status=9xx", "").refused(t, 400, "status")
	a.do("GET", "/farms/shop/trace?colour=red", "").refused(t, 400, "colour", "min_ms")
}
