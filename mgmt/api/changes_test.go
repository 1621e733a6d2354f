package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/revisions"
	"github.com/sluicelb/sluice/mgmt/store"
)

func TestChangesAreReadOnFromTheLastOneSeen(t *testing.T) {
	a := newAppliance(t)
	for i := range 5 {
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":"f%d","profile":"http","vip":"192.0.2.10","vport":%d}`, i, 80+i))
	}
	for query, want := range map[string]string{
		"": "1 2 3 4 5", "?since=0": "1 2 3 4 5", "?since=3": "4 5", "?since=5": "", "?since=1&limit=2": "2 3", "?since=9223372036854775807": "",
	} {
		list, is := a.must(200, "GET", "/changes"+query, "").at("params").([]any)
		var got []string
		for _, one := range list {
			got = append(got, fmt.Sprint(one.(map[string]any)["number"]))
		}
		if strings.Join(got, " ") != want || !is {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	a.must(200, "GET", "/changes?since=4", "").want(t, "params.0.comment", "create farm f4")
	a.do("GET", "/changes?since=x", "").refused(t, 400, "since")
	a.do("GET", "/changes?limit=0", "").refused(t, 400, "limit")
}

// busyHistory is a history that gains a revision after each read.
type busyHistory struct {
	kept
	add func()
}

type kept = revisions.History

func (h *busyHistory) History(limit int, before uint64) ([]store.Revision, error) {
	defer h.add()
	return h.kept.History(limit, before)
}

func TestNoChangeIsMissedThatIsMadeWhileTheyAreRead(t *testing.T) {
	made := 0
	h := &busyHistory{add: func() {}}
	a := newAppliance(t, func(d *apitest.Parts) { h.kept, d.History = d.History, h })
	h.add = func() {
		made++
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":"f%d","profile":"http","vip":"192.0.2.10","vport":%d}`, made, 80+made))
	}
	h.add()
	last := 0.0
	for range 4 {
		for _, one := range a.must(200, "GET", fmt.Sprintf("/changes?since=%.0f", last), "").at("params").([]any) {
			number := one.(map[string]any)["number"].(float64)
			if number != last+1 {
				t.Fatalf("after revision %.0f comes %.0f", last, number)
			}
			last = number
		}
	}
	if last < 4 {
		t.Errorf("read up to revision %.0f of %d", last, made)
	}
}

// following subscribes to the stream of changes with a key.
func following(t *testing.T, url, key string, header ...string) (next func() string, status int, leave func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", url+api.Base+"/changes/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Header.Set("ZAPI_KEY", key); len(header) == 2 {
		r.Header = http.Header{header[0]: {header[1]}}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	next = func() string {
		event := ""
		for lines.Scan() {
			if name, is := strings.CutPrefix(lines.Text(), "event: "); is {
				event = name
			}
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				return event + " " + data
			}
		}
		return "end"
	}
	return next, resp.StatusCode, cancel
}

func TestChangesAreStreamedToWhoMaySeeThem(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	srv := httptest.NewServer(a.server.Handler())
	t.Cleanup(srv.Close) // runs after the subscribers have left
	all, status, _ := following(t, srv.URL, a.key)
	some, _, _ := following(t, srv.URL, annsKey)
	want := func(next func() string, parts ...string) {
		t.Helper()
		got := next()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("got %s, want %s", got, part)
			}
		}
	}
	want(all, `revision {"number":3,`, `"comment":"add backend`)
	want(all, `status {"farmname":"shop"`, `"status":`)
	if got := some(); !strings.HasPrefix(got, `revision {"number":3,`) || strings.Contains(got, "backend") || status != 200 {
		t.Errorf("%d, a user without the history gets %s", status, got)
	}
	want(some, `status {"farmname":"shop"`)
	a.must(201, "POST", "/farms", `{"farmname":"new","profile":"http","vip":"192.0.2.10","vport":81}`)
	want(all, `revision {"number":4,`)
	want(all, `status {"farmname":"new"`)
	want(some, `revision {"number":4,`) // nothing about the farm
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	want(all, "revision")
	want(all, `status {"farmname":"shop","status":"down"`)
	want(some, "revision")
	want(some, `status {"farmname":"shop","status":"down"`)
	a.must(200, "DELETE", "/farms/shop", "")
	want(some, "revision")
	want(some, `status {"farmname":"shop","status":""}`)
	byCookie, _, _ := following(t, srv.URL, "", "Cookie", cookieOf(t, a.login("root", rootPassword)))
	want(byCookie, "revision")
	a.must(200, "POST", "/system/users", `{"zapikey":"RootsKey0123456789"}`) // ends root's sessions, but not the keys
	for got := byCookie(); got != "end"; got = byCookie() {
		if !strings.HasPrefix(got, "status") {
			t.Errorf("a logged-out user receives %s", got)
		}
	}
	a.must(200, "DELETE", "/rbac/users/ann", "")
	if got := some(); got != "end" {
		t.Errorf("a deleted user receives %s", got)
	}
}

func TestWatchersOfChangesAreBounded(t *testing.T) {
	a := newAppliance(t)
	srv := httptest.NewServer(a.server.Handler())
	t.Cleanup(srv.Close) // runs after the subscribers have left
	var leave []func()
	for range 256 {
		_, status, end := following(t, srv.URL, a.key)
		if leave = append(leave, end); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if _, status, _ := following(t, srv.URL, a.key); status != 503 {
		t.Errorf("one more is answered %d", status)
	}
	for _, end := range leave {
		end()
	}
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, status, _ := following(t, srv.URL, a.key); status == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("slots are not released")
		}
	}
}
