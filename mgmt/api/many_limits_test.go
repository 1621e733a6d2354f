package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/contracttest"
	"github.com/sluicelb/sluice/mgmt/eventlog"
)

// limitedList is a list that cannot have a hundred thousand items.
type limitedList struct {
	list string
	most int
	// more creates the i-th item. If whole is set, it creates i items at once.
	more  func(i int) (method, path, body string)
	whole bool
}

func limited(t *testing.T) []limitedList {
	authority := root(t)
	leaf, ca := authority.Issue("www.sluice.test").FullPEM(), authority.CertPEM()
	post := func(path, body string) func(int) (string, string, string) {
		return func(i int) (string, string, string) {
			return "POST", path, strings.ReplaceAll(body, "#", fmt.Sprint(i))
		}
	}
	return []limitedList{
		{"/rbac/users", 1000, post("/rbac/users", `{"name":"u#","service":"ldap"}`), false},
		{"/rbac/groups", 500, post("/rbac/groups", `{"name":"g#"}`), false},
		{"/rbac/roles", 200, post("/rbac/roles", `{"name":"r#"}`), false},
		{"/keys", 1000, post("/keys", `{"comment":"k#"}`), false},
		{"/history/tags", 100, post("/history/tags", `{"name":"t#","revision":1}`), false},
		{"/system/notifications/methods/webhooks", 8, post("/system/notifications/methods/webhooks", `{"name":"w#","url":"https://hooks.example.com/#","secret":"0123456789abcdef"}`), false},
		{"/system/backup", 32, post("/system/backup", `{"name":"b#"}`), false},
		{"/certificates", 4096, func(i int) (string, string, string) { return "POST", fmt.Sprintf("/certificates/c%d", i), leaf }, false},
		{"/certificates/ca", 256, func(i int) (string, string, string) { return "POST", fmt.Sprintf("/certificates/ca/a%d", i), ca }, false},
		{"/monitoring/fg", farm.MaxChecks, whole("checks", `{"name":"x#","command":"check_tcp -H HOST -p PORT"}`), true},
		{"/farms", farm.MaxFarmID, whole("farms", `{"name":"f#","profile":"http","vip":"192.0.2.10","vport":80,"stopped":true}`), true},
	}
}

// whole returns a document with n objects of a kind.
func whole(kind, one string) func(int) (string, string, string) {
	return func(n int) (string, string, string) {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(one, "#", fmt.Sprint(i))
		}
		if kind == "farms" {
			return "PUT", "/config", `{"farms":[` + strings.Join(all, ",") + `]}`
		}
		return "PUT", "/config", `{"farms":[],"` + kind + `":[` + strings.Join(all, ",") + `]}`
	}
}

// If a list is limited to fewer than a hundred thousand items, one too many is rejected
// with the limit, and the full list can be read, whole and in pages. The short form creates
// only a few.
func TestListsAreAnsweredAtTheirLimits(t *testing.T) {
	for _, k := range limited(t) {
		t.Run(k.list, func(t *testing.T) {
			a := newAppliance(t)
			if !k.whole { // otherwise it would reuse one of the numbers
				a.shop(0)
			}
			a.fillTo(t, k)
			for _, limit := range []int{0, 1, 50, 1000} {
				path := k.list
				if limit > 0 {
					path = fmt.Sprintf("%s?limit=%d&offset=1", k.list, limit)
				}
				a.answered(t, path, limit)
			}
		})
	}
}

// fillTo creates items up to the limit, or forty in the short form, and verifies that one
// too many is rejected.
func (a *appliance) fillTo(t *testing.T, k limitedList) {
	t.Helper()
	n := k.most
	if !contracttest.Long() {
		n = min(k.most, 40)
	}
	var headers []string
	switch {
	case strings.HasPrefix(k.list, "/certificates"):
		headers = pemBody
	case k.whole:
		headers = []string{"Content-Type", "application/json"}
	}
	send := func(i int) reply {
		method, path, body := k.more(i)
		return a.do(method, path, body, headers...)
	}
	if k.whole {
		if r := send(n); r.status != 200 {
			t.Fatalf("%d: %.300s", r.status, r.raw)
		}
		tooMany(t, send(k.most+1), k.most)
		return
	}
	last := reply{}
	for i := 0; i < n; i++ { // existing items may or may not count
		if last = send(i); last.status >= 400 {
			if i < k.most-8 || !strings.Contains(last.raw, fmt.Sprint(k.most)) {
				t.Fatalf("%d: %d %s", i, last.status, last.raw)
			}
			break
		}
	}
	if n == k.most {
		if last.status < 400 {
			last = send(n)
		}
		tooMany(t, last, k.most)
	}
}

// tooMany verifies the rejection of one item too many: it must state the limit.
func tooMany(t *testing.T, r reply, most int) {
	t.Helper()
	if r.status < 400 || r.status >= 500 || !strings.Contains(r.raw, fmt.Sprint(most)) {
		t.Errorf("one more than %d: %d %.300s", most, r.status, r.raw)
	}
}

// answered reads a list of at most limit items, in bounded time and size.
func (a *appliance) answered(t *testing.T, path string, limit int) {
	t.Helper()
	r, took := a.timed(path)
	var body struct {
		Params []json.RawMessage
		Total  *int
	}
	if err := json.Unmarshal([]byte(r.raw), &body); err != nil || r.status != 200 || took > slowest || len(body.Params) == 0 || limit > 0 && (len(body.Params) > limit || body.Total == nil) {
		t.Errorf("%s: %d with %d things, %v, in %s: %.300s", path, r.status, len(body.Params), err, took, r.raw)
	}
	t.Logf("%s: %d things, %d bytes in %s", path, len(body.Params), len(r.raw), took)
}

// Events are stored in files of a fixed size. The list shows what they hold, newest first,
// in pages.
func TestATimelineOfManyEventsIsAnswered(t *testing.T) {
	n := 2000
	if contracttest.Long() {
		n = 100_000
	}
	a := newAppliance(t, inTime)
	a.shop(1)
	shop := a.config().Farm("shop").ID
	began := time.Now().Add(-time.Hour)
	for i := range n {
		a.events.Add(eventlog.Event{Time: began.Add(time.Duration(i) * 10 * time.Millisecond), Kind: eventlog.Health, Severity: eventlog.Warning, Farms: []uint32{shop}, Farm: "shop", Backend: "0 (10.0.0.1:8080)", Text: fmt.Sprintf("event %d", i)})
		if i%5000 == 4999 { // a longer queue would be dropped and counted
			a.until(t, fmt.Sprintf("event %d", i))
		}
	}
	a.until(t, fmt.Sprintf("event %d", n-1))
	for _, query := range []string{"?since=2h", "?since=2h&limit=1&offset=5", "?since=2h&limit=1000", "?since=2h&kind=health&farm=shop&limit=50", "?since=30d"} {
		r, took := a.timed("/timeline" + query)
		if r.status != 200 || took > slowest {
			t.Errorf("%s: %d in %s: %.300s", query, r.status, took, r.raw)
		}
		t.Logf("%s: %d things of %v, %d bytes in %s", query, len(r.at("params").([]any)), r.at("total"), len(r.raw), took)
	}
}

// until waits until the timeline contains the text.
func (a *appliance) until(t *testing.T, text string) {
	t.Helper()
	enginetest.Eventually(t, text+" in the timeline", func() bool {
		return strings.Contains(a.do("GET", "/timeline?since=2h&kind=health", "").raw, `"`+text+`"`)
	})
}

// A user has a limited number of sessions. One more login ends the least recently used one,
// and is never refused.
func TestTheListOfLogInsIsBounded(t *testing.T) {
	const most = 64
	n := 3
	if contracttest.Long() {
		n = most + 3
	}
	a := newAppliance(t)
	a.must(201, "POST", "/rbac/users", `{"name":"ann","password":"secret-1"}`)
	a.must(200, "PUT", "/rbac/users/ann", `{"webgui_permissions":"true"}`)
	for range n {
		if r := a.login("ann", "secret-1"); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.raw)
		}
	}
	r := a.must(200, "GET", "/rbac/sessions", "")
	if got := len(r.at("params").([]any)); got != min(n, most) {
		t.Errorf("%d log-ins are listed of %d", got, n)
	}
	a.answered(t, "/rbac/sessions?limit=2&offset=1", 2)
}
