package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// learned holds the estimated capacity of backends by stable ID.
type learned map[uint32]headroom.Known

func (l learned) Of(_ *farm.Farm, b *farm.Backend, _ time.Time) headroom.Known { return l[b.ID] }

// bent describes a backend with a known bend, and its current requests per second.
func bent(at, rate, base float64) headroom.Known {
	return headroom.Known{Estimate: headroom.Estimate{State: headroom.Bent, Bend: at, Base: time.Duration(base * float64(time.Second)), Carried: at, Highest: 2 * at},
		Counted: true, Load: rate * base, Rate: rate, Peak: 2 * rate * base, PeakRate: 2 * rate}
}

func unbent(carried, rate, base float64) headroom.Known {
	k := bent(carried, rate, base)
	k.State, k.Bend, k.Highest = headroom.Unbent, 0, carried
	return k
}

// rehearsed returns an appliance with the farm shop, service web, whose backends have these
// estimates.
func rehearsed(t *testing.T, known ...headroom.Known) (*appliance, learned) {
	t.Helper()
	l := learned{}
	a := newAppliance(t, func(d *apitest.Parts) { d.Headroom.Learned = l })
	a.shop(len(known))
	for i, b := range a.config().Farms[0].HTTP.Services[0].Backends {
		l[b.ID] = known[i]
	}
	return a, l
}

func TestHeadroomOfBackends(t *testing.T) {
	a, l := rehearsed(t, bent(8, 80, 0.05), unbent(20, 100, 0.05), headroom.Known{})
	r := a.must(200, "GET", "/farms/shop/headroom", "")
	for path, want := range map[string]any{
		"params.0.farm": "shop", "params.0.service": "web", "params.0.id": 0, "params.0.ip": "10.0.0.1", "params.0.port": 8080, "params.0.status": "up",
		"params.0.bend": "seen", "params.0.limit": 8, "params.0.base_latency": 0.05, "params.0.rate": 160, "params.0.under_way": 4, "params.0.peak": 8,
		"params.0.headroom": 50, "params.0.headroom_peak": 0, "params.0.text": "latency bends at 8 at once", "params.0.connection_limit": 11, "params.0.weight": nil,
		"params.1.bend": "not seen", "params.1.limit": 20, "params.1.headroom": 75, "params.1.text": "no bend was seen yet: never above 20 at once", "params.1.connection_limit": nil, "params.1.advice": "",
		"params.2.bend": "not known", "params.2.limit": nil, "params.2.headroom": nil, "params.2.peak": nil, "params.2.base_latency": nil,
	} {
		r.want(t, path, want)
	}
	if s := r.at("params.0.advice").(string); !strings.HasPrefix(s, "connection_limit=11: beyond 8 at once") || strings.Contains(s, "weight") {
		t.Errorf("advice %q", s)
	}
	if r := a.must(200, "GET", "/headroom?bend=seen", ""); len(r.at("params").([]any)) != 1 {
		t.Errorf("backends with a bend: %s", r.raw)
	}
	a.must(404, "GET", "/farms/none/headroom", "")
	backends := a.config().Farms[0].HTTP.Services[0].Backends
	l[backends[1].ID], l[backends[2].ID] = bent(16, 10, 0.05), bent(8, 10, 0.1) // capacity 160, 320 and 80
	r = a.must(200, "GET", "/farms/shop/headroom", "")
	r.want(t, "params.0.weight", 2)
	r.want(t, "params.1.weight", 4)
	r.want(t, "params.2.weight", 1)
	if s := r.at("params.1.advice").(string); !strings.Contains(s, "weight=4: it does 320 requests a second of the 560 its service can") {
		t.Errorf("advice %q", s)
	}
	a.must(200, "PUT", "/farms/shop/services/web", `{"routingpolicy":"LEAST_CONNECTIONS"}`) // balances by connections in progress
	r = a.must(200, "GET", "/farms/shop/headroom", "")
	r.want(t, "params.1.weight", 2)
	r.want(t, "params.2.weight", 1)
}

// A limit and a weight that already fit yield no advice.
func TestNoAdviceWhereNothingIsToBeChanged(t *testing.T) {
	a, _ := rehearsed(t, bent(8, 80, 0.05), bent(8, 80, 0.05))
	a.must(200, "PUT", "/farms/shop/services/web/backends/0", `{"connection_limit":12}`)
	r := a.must(200, "GET", "/headroom", "")
	r.want(t, "params.0.advice", "")
	if s := r.at("params.1.advice").(string); !strings.Contains(s, "connection_limit=11") {
		t.Errorf("advice %q", s)
	}
}

func TestHeadroomOfL4FarmsIsNotMeasurable(t *testing.T) {
	a, _ := rehearsed(t)
	a.dns(2)
	a.engine.kernel = stats.Traffic{Backends: map[uint32]stats.Backend{}}
	for _, b := range a.config().Farm("dns").L4.Backends {
		a.engine.backends[b.ID], a.engine.kernel.Backends[b.ID] = stats.Backend{Established: 7}, stats.Backend{Established: 7}
	}
	r := a.must(200, "GET", "/farms/dns/headroom", "")
	r.want(t, "params.0.bend", "not measurable")
	r.want(t, "params.0.under_way", 7)
	r.want(t, "params.0.limit", nil)
	if !strings.Contains(r.at("params.0.text").(string), "connections are relayed") {
		t.Errorf("%s", r.raw)
	}
	r = a.must(200, "POST", "/rehearsals", `{"backends":["dns/0"]}`)
	r.want(t, "params.verdict", "not known")
	r.want(t, "params.groups.0.moved", 7)
	r.want(t, "params.groups.0.backends.0.after", 14)
}

func rehearse(a *appliance, body string) reply {
	a.t.Helper()
	return a.must(200, "POST", "/rehearsals", body)
}

func TestRehearsalsSayWhetherOthersCanTakeOver(t *testing.T) {
	a, l := rehearsed(t, bent(8, 60, 0.05), bent(8, 60, 0.05), bent(8, 60, 0.05))
	revision := a.must(200, "GET", "/farms", "").header.Get("ETag")
	r := rehearse(a, `{"backends":["shop/web/1"]}`)
	for path, want := range map[string]any{
		"params.verdict": "fits", "params.load": "now", "params.groups.0.farm": "shop", "params.groups.0.service": "web", "params.groups.0.algorithm": "round robin", "params.groups.0.out.0": 1,
		"params.groups.0.moved": 60, "params.groups.0.refused": 0, "params.groups.0.backends.0.id": 0, "params.groups.0.backends.1.id": 2, "params.groups.0.backends.0.before": 60, "params.groups.0.backends.0.after": 90,
		"params.groups.0.backends.0.under_way": 4.5, "params.groups.0.backends.0.limit": 8, "params.groups.0.backends.0.verdict": "fits",
		"params.text": "service web of farm shop: 2 take over 60 requests a second, and all stay below their limits",
	} {
		r.want(t, path, want)
	}
	r = rehearse(a, `{"backends":["shop/web/1"],"peak":true}`)
	r.want(t, "params.verdict", "does not fit")
	r.want(t, "params.load", "peak")
	if s := r.at("params.text").(string); !strings.Contains(s, "backend 0 (10.0.0.1) has 9 at once then, and bends at 8; backend 2") {
		t.Errorf("%s", s)
	}
	backends := a.config().Farms[0].HTTP.Services[0].Backends
	l[backends[0].ID] = unbent(5, 60, 0.05)
	rehearse(a, `{"backends":["shop/web/1"]}`).want(t, "params.groups.0.backends.0.text", "has 4.5 at once then, and carried 5 before")
	l[backends[0].ID] = unbent(4, 60, 0.05)
	r = rehearse(a, `{"backends":["shop/web/1"]}`)
	r.want(t, "params.verdict", "not known")
	r.want(t, "params.groups.0.backends.0.text", "has 4.5 at once then, and never carried more than 4")
	l[backends[0].ID] = headroom.Known{Counted: true}
	r = rehearse(a, `{"backends":["shop/web/1"]}`)
	r.want(t, "params.groups.0.backends.0.verdict", "not known")
	l[backends[0].ID] = headroom.Known{} // right after a start
	r = rehearse(a, `{"backends":["shop/web/1"]}`)
	r.want(t, "params.verdict", "not known")
	if s := r.at("params.text").(string); !strings.Contains(s, "is not known yet: ask again") {
		t.Errorf("%s", s)
	}
	if now := a.must(200, "GET", "/farms", "").header.Get("ETag"); now != revision {
		t.Errorf("a rehearsal changed something: %s, %s before", now, revision)
	}
}

// Rehearsals respect the health, maintenance, priorities and limits of the farm.
func TestRehearsalsGoByTheFarmAsItIs(t *testing.T) {
	a, l := rehearsed(t, bent(8, 60, 0.05), bent(8, 60, 0.05), bent(20, 0, 0.05))
	backends := a.config().Farms[0].HTTP.Services[0].Backends
	a.must(200, "PUT", "/farms/shop/services/web/backends/2", `{"priority":2}`)
	r := rehearse(a, `{"backends":["shop/web/0"]}`)
	r.want(t, "params.groups.0.backends.0.after", 60)
	r.want(t, "params.groups.0.backends.1.after", 60)
	a.engine.health[backends[1].ID] = farm.StatusDown
	r = rehearse(a, `{"backends":["shop/web/0"]}`)
	r.want(t, "params.groups.0.backends.0.after", 0)
	r.want(t, "params.groups.0.backends.0.text", "gets nothing: it is down")
	r.want(t, "params.groups.0.backends.1.after", 120)
	r = rehearse(a, `{"backends":["shop/web/0","shop/web/2"]}`)
	r.want(t, "params.verdict", "does not fit")
	r.want(t, "params.groups.0.text", "nobody is left who can be used")
	a.engine.health[backends[1].ID] = farm.StatusUp
	a.must(200, "PUT", "/farms/shop/services/web/backends/1", `{"connection_limit":2}`)
	r = rehearse(a, `{"backends":["shop/web/0","shop/web/2"]}`)
	r.want(t, "params.verdict", "does not fit")
	if s := r.at("params.text").(string); !strings.Contains(s, "limits of the others leave no room for") {
		t.Errorf("%s", s)
	}
	for id := range l {
		l[id] = bent(8, 0, 0.05)
	}
	r = rehearse(a, `{"backends":["shop/web/0"]}`)
	r.want(t, "params.verdict", "fits")
	if s := r.at("params.text").(string); !strings.Contains(s, "nothing to do: rehearse the peak") {
		t.Errorf("%s", s)
	}
}

func TestAShareOfAFarmIsRehearsed(t *testing.T) {
	a, _ := rehearsed(t, bent(8, 60, 0.05), bent(8, 60, 0.05), bent(8, 60, 0.05), bent(8, 60, 0.05), bent(8, 60, 0.05))
	for body, out := range map[string]string{`{"farm":"shop"}`: "[0 1]", `{"farm":"shop","share":100}`: "[0 1 2 3 4]", `{"farm":"shop","share":1}`: "[0]", `{"farm":"shop","share":20,"backends":["shop/web/3"]}`: "[0 3]"} {
		if got := fmt.Sprint(rehearse(a, body).at("params.groups.0.out")); got != out {
			t.Errorf("%s takes out %s, want %s", body, got, out)
		}
	}
}

// The traffic of gslb backends is unknown, because clients connect to them directly.
func TestBackendsThatAreNamedToClientsAreNotRehearsed(t *testing.T) {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"192.0.2.10","vport":5300}`)
	a.must(201, "POST", "/farms/names/services", `{"id":"shop","algorithm":"roundrobin"}`)
	a.must(201, "POST", "/farms/names/services/shop/backends", `{"ip":"10.0.0.1"}`)
	for _, body := range []string{`{"backends":["names/shop/1"]}`, `{"farm":"names"}`} {
		a.do("POST", "/rehearsals", body).refused(t, 400, "names backends to clients")
	}
	if got := fmt.Sprint(a.must(200, "GET", "/headroom", "").at("params")); got != "[]" {
		t.Errorf("headroom of %s", got)
	}
}

// Backends with other server names do not take over.
func TestServerNamesAreRehearsedApart(t *testing.T) {
	a, _ := rehearsed(t)
	a.must(201, "POST", "/farms", `{"farmname":"tls","profile":"l4xnat","vip":"192.0.2.10","vport":"443"}`)
	for i, names := range []string{`["a.test"]`, `["A.test"]`, `["b.test"]`} {
		a.must(201, "POST", "/farms/tls/backends", fmt.Sprintf(`{"ip":"10.0.1.%d","port":443,"server_names":%s}`, i+1, names))
	}
	a.engine.kernel = stats.Traffic{Backends: map[uint32]stats.Backend{}}
	for _, b := range a.config().Farm("tls").L4.Backends {
		a.engine.backends[b.ID] = stats.Backend{Established: 10}
	}
	r := rehearse(a, `{"backends":["tls/0"]}`)
	r.want(t, "params.groups.0.backends.0.after", 20)
	r.want(t, "params.groups.0.backends.1.after", 10)
	a.must(200, "PUT", "/farms/tls/backends/2", `{"server_names":["b.test","a.test"]}`)
	r = rehearse(a, `{"backends":["tls/0"]}`)
	r.want(t, "params.verdict", "not known")
	if s := r.at("params.text").(string); !strings.Contains(s, "server names") {
		t.Errorf("%s", s)
	}
}

func TestRehearsalsAreAskedWithCare(t *testing.T) {
	a, _ := rehearsed(t, bent(8, 60, 0.05))
	for body, said := range map[string]string{
		`{"peak":true}`: "nothing is taken out", `{"backends":[]}`: "backends", `{"backends":"shop/web/0"}`: "backends", `{"backends":[1]}`: "backends",
		`{"backends":["shop"]}`: "shop names no backend: write FARM/SERVICE/ID", `{"backends":["a/b/c/d"]}`: "names no backend", `{"farm":""}`: "farm must be", `{"farm":3}`: "farm must be",
		`{"share":3,"backends":["shop/web/0"]}`: "share is for farm", `{"farm":"shop","share":0}`: "1 to 100", `{"farm":"shop","share":101}`: "1 to 100", `{"farm":"shop","share":1.5}`: "1 to 100",
		`{"farm":"shop","share":"half"}`: "1 to 100", `{"farm":"shop","peak":"yes"}`: "peak must be true or false", `{"farms":["shop"]}`: "farms",
	} {
		a.do("POST", "/rehearsals", body).refused(t, 400, said)
	}
	a.must(201, "POST", "/farms", `{"farmname":"many","profile":"http","vip":"192.0.2.10","vport":82}`)
	if _, err := a.applier.Change(t.Context(), apply.Author{Name: "test"}, "", 0, func(cfg *farm.Config) error {
		for i := range 201 {
			s := farm.Service{Name: fmt.Sprint("s", i), Backends: []farm.Backend{{Host: "10.0.0.1", Port: 80}}}
			cfg.Farm("many").HTTP.Services = append(cfg.Farm("many").HTTP.Services, s)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	a.do("POST", "/rehearsals", `{"farm":"many"}`).refused(t, 400, "backends of 201 services, at most 200")
	a.do("POST", "/rehearsals", `{"farm":"shop"}`, "If-Match", "1").refused(t, 412)
	a.must(400, "POST", "/rehearsals", `{}`).want(t, "params.0.name", "backends")
	for body, said := range map[string]string{
		`{"backends":["none/web/0"]}`: "the farm none does not exist", `{"backends":["shop/none/0"]}`: "the service none does not exist", `{"backends":["shop/web/7"]}`: "the backend 7 does not exist in the service web of farm shop",
		`{"backends":["shop/web/x"]}`: "the backend x does not exist", `{"farm":"none"}`: "the farm none does not exist",
	} {
		a.do("POST", "/rehearsals", body).refused(t, 404, said)
	}
	a.must(201, "POST", "/farms", `{"farmname":"empty","profile":"http","vip":"192.0.2.10","vport":81}`)
	a.do("POST", "/rehearsals", `{"farm":"empty"}`).refused(t, 400, "has no backends")
}

// A rehearsal of a hidden farm is rejected without revealing that it exists.
func TestHeadroomIsShownToWhoSeesTheFarm(t *testing.T) {
	a, _ := rehearsed(t, bent(8, 60, 0.05), bent(8, 60, 0.05))
	a.people()
	if r := a.as("GET", "/headroom", ""); r.status != 200 || strings.Contains(r.raw, "shop") {
		t.Errorf("%s", r.raw)
	}
	for _, body := range []string{`{"backends":["shop/web/0"]}`, `{"farm":"shop"}`} {
		a.as("POST", "/rehearsals", body).refused(t, 404, "the farm shop does not exist")
	}
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	if r := a.as("GET", "/headroom", ""); !strings.Contains(r.raw, "shop") {
		t.Errorf("%s", r.raw)
	}
	if r := a.as("POST", "/rehearsals", `{"farm":"shop"}`); r.status != 200 {
		t.Errorf("%s", r.raw)
	}
}

// If netd does not respond, the number of kernel connections is unknown, not zero.
func TestConnectionsInTheKernelMayNotBeKnown(t *testing.T) {
	l := learned{}
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Headroom.Learned = l
		d.KernelTraffic = func(context.Context) (stats.Traffic, error) { return stats.Traffic{}, errors.New("no netd") }
	})
	a.dns(2)
	if !a.config().Farm("dns").InKernel() {
		a.must(200, "PUT", "/farms/dns", `{"datapath":"kernel"}`)
	}
	r := a.must(200, "GET", "/farms/dns/headroom", "")
	if s := r.at("params.0.text").(string); !strings.Contains(s, "netd does not answer") {
		t.Errorf("%s", s)
	}
	r = rehearse(a, `{"backends":["dns/0"]}`)
	r.want(t, "params.verdict", "not known")
	if s := r.at("params.text").(string); !strings.Contains(s, "netd does not answer") {
		t.Errorf("%s", s)
	}
}

// crowded counts the concurrent readers of the estimates.
type crowded struct {
	learned
	now, most atomic.Int32
	falls     atomic.Bool
}

func (c *crowded) Of(f *farm.Farm, b *farm.Backend, at time.Time) headroom.Known {
	if c.falls.CompareAndSwap(true, false) {
		panic("one fault")
	}
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	time.Sleep(time.Millisecond)
	return c.learned.Of(f, b, at)
}

// Rehearsing a group takes a CPU and memory, so many requests must not run at once.
func TestOneGroupIsRehearsedAtATime(t *testing.T) {
	c := &crowded{learned: learned{}}
	a := newAppliance(t, func(d *apitest.Parts) { d.Headroom.Learned = c })
	a.shop(5)
	c.falls.Store(true)
	a.do("POST", "/rehearsals", `{"farm":"shop"}`).refused(t, 500, "internal fault")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if r := a.do("POST", "/rehearsals", `{"farm":"shop"}`); r.status != 200 {
				t.Error(r.raw)
			}
		})
	}
	all.Wait()
	if most := c.most.Load(); most != 1 {
		t.Errorf("%d groups are rehearsed at once", most)
	}
}
