package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

func inTime(d *apitest.Parts) { d.Host.Now = time.Now } // revisions have the real time

// axis returns an appliance with two farms, each with some events.
func axis(t *testing.T) *appliance {
	t.Helper()
	a := newAppliance(t, inTime)
	a.shop(1)
	a.dns(1)
	now := time.Now()
	for name, text := range map[string]string{"shop": "is down", "dns": "of dns alone"} {
		a.events.Add(eventlog.Event{Time: now, Kind: eventlog.Health, Severity: eventlog.Warning, Farms: []uint32{a.config().Farm(name).ID}, Farm: name, Backend: "0 (10.0.0.1:8080)", Text: text})
	}
	return a
}

func TestTheTimelineHasRevisionsAndEvents(t *testing.T) {
	a := axis(t)
	r := a.must(200, "GET", "/timeline?kind=health&farm=shop", "")
	r.want(t, "params.0.text", "is down")
	r.want(t, "params.0.farm", "shop")
	r.want(t, "params.0.severity", "warning")
	if n := len(r.at("params").([]any)); n != 1 {
		t.Errorf("%d entries", n)
	}
	r = a.must(200, "GET", "/timeline", "")
	if !strings.Contains(r.raw, "revision 1 by root") || r.at("params.0.kind") != "revision" {
		t.Errorf("%s", r.raw)
	}
	all := len(r.at("params").([]any))
	r = a.must(200, "GET", "/timeline?limit=1&offset=1", "")
	r.want(t, "total", all)
	r.want(t, "params.0.revision", 2)
	if r := a.must(200, "GET", "/timeline?severity=error", ""); len(r.at("params").([]any)) != 0 {
		t.Errorf("errors: %s", r.raw)
	}
	if r := a.must(200, "GET", "/timeline?since=2026-01-02T03:04:05Z&until=2026-01-03T03:04:05Z", ""); len(r.at("params").([]any)) != 0 {
		t.Errorf("long ago: %s", r.raw)
	}
}

func TestTheTimelineIsAskedWithCare(t *testing.T) {
	a := axis(t)
	for query, said := range map[string]string{
		"since=yesterday": "since: yesterday is not allowed", "since=0h": "since", "since=400d": "since", "until=soon": "until: soon is no time",
		"since=2026-01-02T03:04:05Z&until=2026-01-02T03:04:05Z": "not before", "kind=weather": "kind: weather is not allowed, allowed are health,", "limit=0": "limit",
	} {
		a.do("GET", "/timeline?"+query, "").refused(t, 400, said)
	}
	a.do("GET", "/timeline?farm=none", "").refused(t, 404, "the farm none does not exist")
}

// Callers see the events of the farms they see. A new farm does not inherit the events of a
// deleted one of the same name; a renamed farm keeps its own.
func TestTheTimelineShowsFarmsToWhoSeesThem(t *testing.T) {
	a := axis(t)
	a.people()
	if r := a.as("GET", "/timeline", ""); r.status != 200 || strings.Contains(r.raw, "10.0.0.1") || strings.Contains(r.raw, "revision") {
		t.Errorf("without a farm: %s", r.raw)
	}
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	if r := a.as("GET", "/timeline", ""); !strings.Contains(r.raw, "is down") || strings.Contains(r.raw, "dns") {
		t.Errorf("with the farm shop: %s", r.raw)
	}
	a.as("GET", "/timeline?farm=dns", "").refused(t, 404)
	a.must(200, "PUT", "/farms/shop", `{"newfarmname":"store"}`)
	a.as("GET", "/timeline?farm=store&kind=health", "").want(t, "params.0.farm", "store")
	a.must(200, "DELETE", "/farms/store", "")
	a.must(201, "POST", "/farms", `{"farmname":"store","profile":"http","vip":"192.0.2.10","vport":80}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"store"}`)
	if r := a.as("GET", "/timeline", ""); strings.Contains(r.raw, "is down") {
		t.Errorf("a namesake: %s", r.raw)
	}
	if r := a.must(200, "GET", "/timeline?kind=health", ""); !strings.Contains(r.raw, `"shop (deleted)"`) || !strings.Contains(r.raw, `"dns"`) {
		t.Errorf("root: %s", r.raw)
	}
}

// Steps are detected in the recorded values.
func TestTheTimelineHasStepsOfLatency(t *testing.T) {
	a := axis(t)
	now := time.Now()
	object := recorder.Farm(a.config().Farm("shop").ID)
	for i := range 200 {
		p50 := 0.02 + 0.001*float64(i%3)
		if i >= 100 {
			p50 *= 3
		}
		a.numbers.Write(object, now.Add(time.Duration(i-200)*5*time.Second), []timeseries.Value{{Series: "requests", Value: 20}, {Series: "errors", Value: 0}, {Series: "p50", Value: p50}})
	}
	a.events.Add(eventlog.Event{Time: now.Add(-505 * time.Second), Kind: eventlog.Health, Farms: []uint32{a.config().Farm("shop").ID}, Backend: "0", Text: "before it"})
	r := a.must(200, "GET", "/timeline?kind=latency", "")
	if n := len(r.at("params").([]any)); n != 1 {
		t.Fatalf("%d steps: %s", n, r.raw)
	}
	r.want(t, "params.0.farm", "shop")
	r.want(t, "params.0.text", "half of all requests took 21ms, and take 63ms since")
	r.want(t, "params.0.before.0.text", "before it")
}

func TestTheTimelineKeepsTheNewestOfMany(t *testing.T) {
	a := axis(t)
	now := time.Now()
	for i := range 5 {
		a.events.Add(eventlog.Event{Time: now.Add(time.Duration(i-10) * time.Second), Kind: eventlog.Health, Severity: eventlog.Warning, Farms: []uint32{a.config().Farm("shop").ID}, Farm: "shop", Text: "event " + string(rune('0'+i))})
	}
	got := a.must(200, "GET", "/timeline?order=newest&limit=2&text=event", "")
	if text := got.raw; strings.Index(text, "event 4") > strings.Index(text, "event 3") || strings.Contains(text, "event 2") || !strings.Contains(text, `"total": 5`) {
		t.Errorf("the newest two: %s", text)
	}
	if text := a.must(200, "GET", "/timeline?limit=2&text=event", "").raw; !strings.Contains(text, "event 0") {
		t.Errorf("without an order the newest are last: %s", text)
	}
	if text := a.must(400, "GET", "/timeline?order=random", "").raw; !strings.Contains(text, "allowed is newest") {
		t.Errorf("%s", text)
	}
}
