package timeline_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/timeline"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// kept holds all events of a test.
type kept struct {
	events    []eventlog.Event
	revisions []store.Revision // the newest first
	err       error
}

func (k *kept) Read(from time.Time) (out []eventlog.Event, err error) {
	for _, e := range k.events {
		if !e.Time.Before(from) {
			out = append(out, e)
		}
	}
	return out, k.err
}

func (k *kept) History(limit int, before uint64) (out []store.Revision, err error) {
	for _, r := range k.revisions {
		if (before == 0 || r.Number < before) && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, k.err
}

// numbers holds recorded numbers, by series.
type numbers struct {
	farms map[string]map[string][]float64
	reads int
	err   error
}

func (n *numbers) Read(object string, from, to, now time.Time, series ...string) (timeseries.Points, error) {
	n.reads++
	of := n.farms[object]
	if of == nil {
		return timeseries.Points{}, timeseries.ErrNone
	}
	const rows = 720
	p := timeseries.Points{Start: now.Add(-time.Hour), Step: 5 * time.Second}
	for _, name := range series {
		values := of[name]
		if values == nil {
			values = make([]float64, rows)
			for i := range values {
				values[i] = math.NaN()
			}
		}
		p.Values = append(p.Values, values)
	}
	return p, n.err
}

func config() *farm.Config {
	return &farm.Config{Farms: []farm.Farm{
		{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{ID: 1, Name: "web", Backends: []farm.Backend{{ID: 1, Slot: 1, Host: "10.0.0.1", Port: 80}, {ID: 2, Slot: 2, Host: "10.0.0.2", Port: 80}}}}}},
		{ID: 2, Name: "api", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{}},
	}}
}

// root sees everything, only(…) sees farms and their events.
func root() timeline.Viewer {
	cfg := config()
	return timeline.Viewer{Config: cfg, Farms: cfg.Farms, All: true, Gone: true, History: true, Certificates: true}
}

func only(name string) timeline.Viewer {
	cfg := config()
	return timeline.Viewer{Config: cfg, Farms: []farm.Farm{*cfg.Farm(name)}, History: true, Certificates: true}
}

func lastHour(v timeline.Viewer) timeline.Question {
	return timeline.Question{From: ago(time.Hour), To: now, Now: now, Viewer: v}
}

// read returns the entries as lines.
func read(t *testing.T, k *kept, n *numbers, q timeline.Question) (lines []string) {
	t.Helper()
	for _, e := range entries(t, k, n, q) {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s [%s] %s %s %s", e.Time.Format("15:04"), e.Kind, e.Farm, e.Service, e.Backend, e.Text)), " "))
	}
	return lines
}

func entries(t *testing.T, k *kept, n *numbers, q timeline.Question) []timeline.Entry {
	t.Helper()
	s := timeline.Sources{Events: k, Revisions: k}
	if n != nil {
		s.Numbers = n
	}
	list, err := s.Read(q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// day returns the events of an hour.
func day() *kept {
	at := func(m int) time.Time { return ago(time.Duration(m) * time.Minute) }
	return &kept{
		events: []eventlog.Event{
			{Time: at(90), Kind: eventlog.Engine, Text: "too early"},
			{Time: at(50), Kind: eventlog.Revision, Farms: []uint32{1}, Farm: "shop", Revision: 1},
			{Time: at(40), Kind: eventlog.Revision, Farms: []uint32{1, 2}, Revision: 2},
			{Time: at(30), Kind: eventlog.Health, Severity: eventlog.Warning, Farms: []uint32{1}, Farm: "old-name", Service: "web", Backend: "0 (10.0.0.1:80)", Text: "is down"},
			{Time: at(29), Kind: eventlog.Health, Farms: []uint32{2}, Farm: "api", Text: "the farm is critical"},
			{Time: at(20), Kind: eventlog.Engine, Text: "another engine runs"},
			{Time: at(15), Kind: eventlog.Certificate, Text: "certificate spare was uploaded"},
			{Time: at(14), Kind: eventlog.Certificate, Farms: []uint32{1, 2}, Text: "certificate www was replaced", Detail: "by ann"},
			{Time: at(10), Kind: eventlog.Confirmed, Farms: []uint32{1}, Farm: "shop", Text: "revision 1 was confirmed", Detail: "by bob"},
		},
		revisions: []store.Revision{
			{Number: 3, Time: at(35), Author: "eve", Comment: "settings of the machine"},
			{Number: 2, Time: at(40), Author: "bob", Comment: "both farms"},
			{Number: 1, Time: at(50), Author: "ann", Comment: "shop alone"},
		},
	}
}

func TestEverythingIsOnOneAxis(t *testing.T) {
	wantLines(t, "root", read(t, day(), nil, lastHour(root())),
		"11:10 revision [shop] revision 1 by ann: shop alone",
		"11:20 revision [shop, api] revision 2 by bob: both farms",
		"11:25 revision [] revision 3 by eve: settings of the machine",
		"11:30 health [shop] web 0 (10.0.0.1:80) is down",
		"11:31 health [api] the farm is critical",
		"11:40 engine [] another engine runs",
		"11:45 certificate [] certificate spare was uploaded",
		"11:46 certificate [shop, api] certificate www was replaced by ann",
		"11:50 confirmation [shop] revision 1 was confirmed by bob")
}

func TestLimitedViewerSeesEventsOfItsFarms(t *testing.T) {
	wantLines(t, "who sees api", read(t, day(), nil, lastHour(only("api"))),
		"11:20 revision [api] revision 2",
		"11:31 health [api] the farm is critical",
		"11:40 engine [] another engine runs",
		"11:46 certificate [api] certificate www was replaced")
	wantLines(t, "who sees shop", read(t, day(), nil, lastHour(only("shop")))[:2],
		"11:10 revision [shop] revision 1 by ann: shop alone",
		"11:20 revision [shop] revision 2")
}

func TestAuthorsNeedTheHistoryPermission(t *testing.T) {
	v := root()
	v.History, v.Certificates = false, false
	got := strings.Join(read(t, day(), nil, lastHour(v)), "\n")
	for _, secret := range []string{"ann", "bob", "eve", "spare"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is shown:\n%s", secret, got)
		}
	}
	if !strings.Contains(got, "revision 3") || !strings.Contains(got, "www was replaced") {
		t.Errorf("%s", got)
	}
}

func TestFarmAndKindFilters(t *testing.T) {
	q := lastHour(root())
	q.Only = q.Viewer.Config.Farm("api")
	wantLines(t, "api", read(t, day(), nil, q),
		"11:20 revision [api] revision 2 by bob: both farms",
		"11:31 health [api] the farm is critical",
		"11:46 certificate [api] certificate www was replaced by ann")
	q.Kind = "health"
	wantLines(t, "health of api", read(t, day(), nil, q), "11:31 health [api] the farm is critical")
}

func TestTimeFilter(t *testing.T) {
	q := lastHour(root())
	q.From, q.To = ago(35*time.Minute), ago(29*time.Minute)
	wantLines(t, "six minutes", read(t, day(), nil, q),
		"11:25 revision [] revision 3 by eve: settings of the machine",
		"11:30 health [shop] web 0 (10.0.0.1:80) is down",
		"11:31 health [api] the farm is critical")
}

// A number is reused after all others were used. Only root sees earlier events of the
// number, with the remark that their farm is deleted.
func TestANamesakeOrALaterFarmDoesNotInheritEvents(t *testing.T) {
	k := &kept{events: []eventlog.Event{
		{Time: ago(30 * time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Farm: "shop", Text: "of the first"},
		{Time: ago(25 * time.Minute), Kind: eventlog.Health, Farms: []uint32{9}, Farm: "shop", Text: "of a namesake"},
		{Time: ago(20 * time.Minute), Kind: eventlog.Revision, Farms: []uint32{1}, Farm: "shop", Revision: 4},
		{Time: ago(20 * time.Minute), Kind: eventlog.Deleted, Farms: []uint32{1}, Farm: "shop"},
		{Time: ago(10 * time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Farm: "shop", Text: "of the second"},
	}, revisions: []store.Revision{{Number: 4, Time: ago(20 * time.Minute), Author: "ann", Comment: "delete it"}}}
	wantLines(t, "who has the second", read(t, k, nil, lastHour(only("shop"))), "11:50 health [shop] of the second")
	wantLines(t, "root", read(t, k, nil, lastHour(root())),
		"11:30 health [shop (deleted)] of the first",
		"11:35 health [shop (deleted)] of a namesake",
		"11:40 revision [shop (deleted)] revision 4 by ann: delete it",
		"11:50 health [shop] of the second")
	q := lastHour(root())
	q.Only = q.Viewer.Config.Farm("shop")
	wantLines(t, "the farm of that name", read(t, k, nil, q), "11:50 health [shop] of the second")
}

// A farm has the name of a deleted one that the viewer does not see any more.
func TestNamesOfVisibleFarmsAreShown(t *testing.T) {
	v := only("shop")
	v.Mask = func(text string, hidden func(string) bool) string {
		for _, name := range []string{"shop", "api"} {
			if hidden(name) {
				text = strings.ReplaceAll(text, name, "hidden")
			}
		}
		return text
	}
	k := &kept{events: []eventlog.Event{
		{Time: ago(50 * time.Minute), Kind: eventlog.Deleted, Farms: []uint32{7}, Farm: "shop", Text: "shop was deleted"},
		{Time: ago(40 * time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Farm: "shop", Text: "shop is down, and api"},
	}}
	wantLines(t, "of shop", read(t, k, nil, lastHour(v)), now.Add(-40*time.Minute).Format("15:04")+" health [shop] shop is down, and hidden")
}

func TestRevisionsAreReadForTheWholePeriod(t *testing.T) {
	k := &kept{}
	for n := 350; n > 0; n-- {
		k.revisions = append(k.revisions, store.Revision{Number: uint64(n), Time: ago(time.Duration(351-n) * time.Minute), Author: "ann"})
	}
	q := lastHour(root())
	q.From = ago(5 * time.Hour)
	if got := read(t, k, nil, q); len(got) != 300 || got[0] != "07:00 revision [] revision 51 by ann" {
		t.Errorf("%d: %s", len(got), got[0])
	}
}

func TestRevertedChangeIsAWarning(t *testing.T) {
	k := &kept{revisions: []store.Revision{{Number: 2, Time: ago(time.Minute), Author: "ann", Source: "confirm"}, {Number: 1, Time: ago(time.Minute), Author: "ann", Source: "api"}}}
	list := entries(t, k, nil, lastHour(root()))
	if list[0].Severity != eventlog.Warning || list[1].Severity != eventlog.Info {
		t.Errorf("%+v", list)
	}
}

func TestUnreadableSourcesAreErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := (timeline.Sources{Events: &kept{err: broken}, Revisions: &kept{}}).Read(lastHour(root())); !errors.Is(err, broken) {
		t.Errorf("events: %v", err)
	}
	if _, err := (timeline.Sources{Events: &kept{}, Revisions: &kept{err: broken}}).Read(lastHour(root())); !errors.Is(err, broken) {
		t.Errorf("revisions: %v", err)
	}
	n := &numbers{farms: traffic(100), err: broken}
	if _, err := (timeline.Sources{Events: &kept{}, Revisions: &kept{}, Numbers: n}).Read(lastHour(root())); !errors.Is(err, broken) {
		t.Errorf("numbers: %v", err)
	}
}

// traffic is an hour of the farm shop with so many requests a second: latency doubles at
// 11:30, one backend fails half of its requests from 11:40 on.
func traffic(rate float64) map[string]map[string][]float64 {
	r := rand.New(rand.NewPCG(1, 1))
	of := map[string][]float64{}
	for i := range 720 {
		p50, failed := 0.02, 0.0
		if i >= 360 {
			p50 = 0.04
		}
		if i >= 480 {
			failed = 0.5
		}
		add := func(name string, v float64) { of[name] = append(of[name], v) }
		add("requests", rate)
		add("p50", p50*math.Exp(0.2*r.NormFloat64()))
		add("errors", rate*failed/2)
		add(recorder.OfBackend(1, "requests"), rate/2)
		add(recorder.OfBackend(1, "errors"), rate/2*failed)
		add(recorder.OfBackend(2, "requests"), rate/2)
		add(recorder.OfBackend(2, "errors"), 0)
	}
	return map[string]map[string][]float64{recorder.Farm(1): of}
}

func TestStepsAreOnTheAxis(t *testing.T) {
	list := entries(t, &kept{}, &numbers{farms: traffic(100)}, lastHour(root()))
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	if e := list[0]; e.Kind != timeline.Latency || e.Severity != eventlog.Warning || e.Farm != "shop" || e.Time.Sub(ago(30*time.Minute)).Abs() > 15*time.Second || !strings.HasPrefix(e.Text, "half of all requests took ") {
		t.Errorf("%+v", e)
	}
	if e := list[1]; e.Kind != timeline.Errors || e.Severity != eventlog.Error || e.Text != "0.0 % of requests failed, and 25.0 % do since" || !e.Time.Equal(ago(20*time.Minute)) {
		t.Errorf("%+v", e)
	}
	if e := list[2]; e.Backend != "0 (10.0.0.1:80)" || e.Service != "web" || e.Text != "0.0 % of requests failed, and 50.0 % do since" || len(e.Before) != 0 {
		t.Errorf("%+v", e)
	}
	if c := list[1].Before; len(c) != 1 || c[0].Backend != "0 (10.0.0.1:80)" || c[0].Kind != timeline.Errors {
		t.Errorf("the causes are %+v", c)
	}
}

func TestAFarmOfThreeRequestsHasNoSteps(t *testing.T) {
	of := map[string][]float64{}
	for i := range 720 {
		rate, p50, failed := 0.0, math.NaN(), 0.0
		if i == 100 || i == 400 || i == 600 {
			rate, p50 = 0.2, 0.01*float64(i)
		}
		if i == 600 {
			failed = 0.2
		}
		of["requests"], of["p50"], of["errors"] = append(of["requests"], rate), append(of["p50"], p50), append(of["errors"], failed)
	}
	farms := map[string]map[string][]float64{recorder.Farm(1): of}
	if list := entries(t, &kept{}, &numbers{farms: farms}, lastHour(root())); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// Few requests far apart say nothing either; nor do a few at the ends of an hour.
func TestLittleTrafficHasNoSteps(t *testing.T) {
	if list := entries(t, &kept{}, &numbers{farms: traffic(0.02)}, lastHour(root())); len(list) > 0 {
		t.Errorf("too few: %+v", list)
	}
	for side, quiet := range map[string]func(row int) bool{"before": func(row int) bool { return row < 360 }, "after": func(row int) bool { return row >= 360 }} {
		of := traffic(100)[recorder.Farm(1)]
		for i := range of["requests"] {
			of["errors"][i] = 0
			for _, name := range []string{"requests", recorder.OfBackend(1, "requests"), recorder.OfBackend(2, "requests")} {
				if quiet(i) {
					of[name][i] = 0.02
				}
			}
			of[recorder.OfBackend(1, "errors")][i] = 0
		}
		if list := entries(t, &kept{}, &numbers{farms: map[string]map[string][]float64{recorder.Farm(1): of}}, lastHour(root())); len(list) > 0 {
			t.Errorf("too few %s: %+v", side, list)
		}
	}
	of := traffic(100)[recorder.Farm(1)]
	for i := range of["requests"] {
		if i > 20 && i < 700 {
			for name := range of {
				of[name][i] = math.NaN()
			}
		}
	}
	if list := entries(t, &kept{}, &numbers{farms: map[string]map[string][]float64{recorder.Farm(1): of}}, lastHour(root())); len(list) > 0 {
		t.Errorf("events an hour apart: %+v", list)
	}
}

func TestCausesOfAStepAreRanked(t *testing.T) {
	at := func(d time.Duration) time.Time { return ago(30*time.Minute + d) }
	k := &kept{
		events: []eventlog.Event{
			{Time: at(11 * time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Backend: "0", Text: "too long before"},
			{Time: at(9 * time.Minute), Kind: eventlog.Revision, Farms: []uint32{1}, Revision: 7},
			{Time: at(8 * time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Backend: "0", Text: "farther"},
			{Time: at(2 * time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Backend: "1", Text: "nearer"},
			{Time: at(90 * time.Second), Kind: eventlog.Certificate, Farms: []uint32{1}, Text: "certificate"},
			{Time: at(time.Minute), Kind: eventlog.Health, Farms: []uint32{2}, Text: "of another farm"},
			{Time: at(30 * time.Second), Kind: eventlog.Engine, Text: "engine"},
			{Time: at(-time.Minute), Kind: eventlog.Health, Farms: []uint32{1}, Backend: "0", Text: "after it"},
		},
		revisions: []store.Revision{{Number: 7, Time: at(9 * time.Minute), Author: "ann", Comment: "weights"}},
	}
	q := lastHour(root())
	q.Kind, q.Only = timeline.Latency, q.Viewer.Config.Farm("shop")
	list := entries(t, k, &numbers{farms: traffic(100)}, q)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	var got []string
	for _, c := range list[0].Before {
		got = append(got, c.Text)
	}
	wantLines(t, "before it", got, "revision 7 by ann: weights", "nearer", "farther", "certificate", "engine")
	if c := list[0].Before[1]; c.Seconds < 100 || c.Seconds > 135 {
		t.Errorf("%d seconds before", c.Seconds)
	}
	q.Viewer, q.Only = only("api"), nil
	if list := entries(t, k, &numbers{farms: traffic(100)}, q); len(list) > 0 {
		t.Errorf("a user who sees only api: %+v", list)
	}
}

// A request without steps must not wait for them.
func TestStepsAreFoundOnlyWhenTheyAreWanted(t *testing.T) {
	n := &numbers{farms: traffic(100)}
	q := lastHour(root())
	q.Kind = "health"
	if entries(t, day(), n, q); n.reads != 0 {
		t.Errorf("numbers were read %d times", n.reads)
	}
	q.Kind, q.Only = "", q.Viewer.Config.Farm("api")
	if entries(t, day(), n, q); n.reads != 1 {
		t.Errorf("for one farm numbers were read %d times", n.reads)
	}
}
