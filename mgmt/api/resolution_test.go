package api_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/guardian"
)

func TestBackendsOfNamesShowTheirAddresses(t *testing.T) {
	var answer explain.Explanation
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Farms.Explain = func(context.Context, explain.Question) (*explain.Explanation, error) { return &answer, nil }
	})
	a.shop(0)
	a.names.Set("pool.example", "10.0.0.1,10.0.0.2")
	a.names.Set("one.example", "10.0.0.9")
	a.must(201, "POST", web+"/backends", `{"ip":"pool.example","port":80,"resolve":"all"}`).want(t, "params.resolution.resolve", "all")
	a.must(201, "POST", web+"/backends", `{"ip":"one.example","port":80}`).want(t, "params.id", 3)
	r := a.must(200, "GET", web+"/backends", "")
	for path, value := range map[string]any{
		"params.0.ip": "pool.example", "params.0.resolution.addresses.1": "10.0.0.2:80", "params.0.resolution.ttl": 60, "params.0.status": "undefined",
		"params.1.ip": "one.example", "params.1.resolution.resolve": "first", "params.1.resolution.addresses.0": "10.0.0.9",
		"params.2.id": 1, "params.2.ip": "10.0.0.1", "params.2.port": 80, "params.2.resolution.of": 0, "params.2.resolution.name": "pool.example", "params.3.ip": "10.0.0.2",
	} {
		r.want(t, path, value)
	}
	// Only the backend with the host name can be changed, not those created from it.
	for _, c := range [][2]string{{"PUT", ""}, {"DELETE", ""}, {"PUT", "/maintenance"}} {
		body := `{"weight":3}`
		if c[1] != "" {
			body = `{"action":"maintenance"}`
		}
		if c[0] == "DELETE" {
			body = ""
		}
		a.do(c[0], web+"/backends/2"+c[1], body).refused(t, 400, "change backend 0")
	}
	a.must(200, "PUT", web+"/backends/0", `{"weight":3}`)
	a.must(200, "GET", web+"/backends", "").want(t, "params.3.weight", 3)

	// The status of a farm derives from the parts; the backend with the name does not
	// count.
	list := a.config().Farms[0].HTTP.Services[0].Backends
	a.engine.health[list[2].ID] = farm.StatusDown
	a.must(200, "GET", web+"/backends", "").want(t, "params.0.status", "undefined")
	a.must(200, "GET", "/farms/shop/status", "").want(t, "params.status", "problem")
	a.engine.health[list[3].ID], a.engine.health[list[1].ID] = farm.StatusDown, farm.StatusDown
	a.must(200, "GET", web+"/backends", "").want(t, "params.0.status", "down")
	a.must(200, "GET", "/farms/shop/status", "").want(t, "params.status", "critical")

	a.names.Fail(errors.New("name server 10.0.0.53:53: it answers SERVFAIL"))
	r = a.must(200, "GET", "/stats/farms/shop", "")
	r.want(t, "backends.1.resolution.problem", "name server 10.0.0.53:53: it answers SERVFAIL")
	r.want(t, "backends.1.problem", nil)
	a.must(201, "POST", web+"/backends", `{"ip":"new.example","port":80}`).want(t, "warning", "ip: new.example has no address yet: name server 10.0.0.53:53: it answers SERVFAIL; the backend is not used until it has one")
	r = a.must(200, "GET", web+"/backends", "")
	r.want(t, "params.2.status", "down")
	r.want(t, "params.2.problem", "new.example has no address: name server 10.0.0.53:53: it answers SERVFAIL")

	answer = explain.Explanation{Result: explain.Result{Service: "web"}, Balance: &explain.Balance{Backends: []explain.Backend{
		{ID: 0, Status: "maintenance", Maintenance: "cut"}, {ID: 3, Status: "up"}, {ID: 4, Status: "maintenance", Maintenance: "cut"}, {ID: 1, Status: "up", Reason: "it is its turn"}}}}
	r = a.must(200, "POST", "/farms/shop/explain", `{"url":"/"}`)
	r.want(t, "params.balance.backends.0.id", 3)
	r.want(t, "params.balance.backends.0.name.name", "one.example")
	r.want(t, "params.balance.backends.1.status", "down")
	r.want(t, "params.balance.backends.1.reason", "new.example has no address: name server 10.0.0.53:53: it answers SERVFAIL")
	r.want(t, "params.balance.backends.2.reason", "it is its turn")
}

func TestHowLongAddressesAreBelievedIsBounded(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", "/system/global", "")
	r.want(t, "params.resolve_min_ttl", 5)
	r.want(t, "params.resolve_max_ttl", 3600)
	r.want(t, "params.resolve_gone_time", 3600)
	a.must(200, "PUT", "/system/global", `{"api_names":["lb.example"]}`)
	r = a.must(200, "PUT", "/system/global", `{"resolve_min_ttl":"1","resolve_max_ttl":60}`)
	r.want(t, "params.resolve_max_ttl", 60)
	r.want(t, "params.api_names.0", "lb.example")
	a.do("PUT", "/system/global", `{"resolve_min_ttl":61}`).refused(t, 400, "resolve_min_ttl", "max_ttl")
	a.do("PUT", "/system/global", `{"resolve_max_ttl":0}`).refused(t, 400, "resolve_max_ttl", "from 1")
	a.must(200, "PUT", "/system/global", `{"resolve_gone_time":604800}`).want(t, "params.resolve_gone_time", 604800)
	a.do("PUT", "/system/global", `{"resolve_gone_time":0}`).refused(t, 400, "resolve_gone_time", "from 1")
	a.do("PUT", "/system/global", `{"resolve_max_ttl":"x"}`).refused(t, 400, "resolve_max_ttl")
	a.must(200, "PUT", "/system/global", `{"resolve_min_ttl":null}`).want(t, "params.resolve_min_ttl", 5)
}

func TestAServiceRecordNamesThePort(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.do("POST", web+"/backends", `{"ip":"pool.example","resolve":"all"}`).refused(t, 400, "port", "required")
	a.do("POST", web+"/backends", `{"ip":"10.0.0.1","port":80,"resolve":"all"}`).refused(t, 400, "resolve", "host name")
	a.do("POST", web+"/backends", `{"ip":"pool.example","resolve":"srv"}`).refused(t, 400, "ip", "SRV record")
	a.do("POST", web+"/backends", `{"ip":"pool.example","port":80,"resolve":"some"}`).refused(t, 400, "resolve", "first, all, srv")
	a.do("POST", web+"/backends", `{"ip":"pool.example","port":80}`).refused(t, 400, "ip", "no such name")
	a.must(201, "POST", web+"/backends", `{"ip":"_http._tcp.example","resolve":"srv"}`).want(t, "warning", "ip: _http._tcp.example has no address yet: no such name; the backend is not used until it has one")
}

// A host name that stands for several servers is explained by each of its addresses.
func TestTheHealthOfANameIsThatOfItsAddresses(t *testing.T) {
	w := &watchman{found: map[uint32]guardian.Finding{}}
	a := newAppliance(t, watched(w))
	a.shop(0)
	a.names.Set("pool.example", "10.0.0.1,10.0.0.2")
	a.must(201, "POST", web+"/backends", `{"ip":"pool.example","port":80,"resolve":"all"}`)
	a.must(200, "POST", fg, `{"name":"alive","command":"check_tcp -H HOST -p PORT"}`)
	a.must(200, "POST", web+"/fg", `{"name":"alive"}`)
	list := a.config().Farms[0].HTTP.Services[0].Backends
	a.engine.health[list[1].ID], a.engine.health[list[2].ID] = farm.StatusUp, farm.StatusDown
	w.found[list[1].ID] = guardian.Finding{Check: "alive", Verdict: health.Up, Results: []guardian.Result{{}}}
	w.found[list[2].ID] = guardian.Finding{Check: "alive", Verdict: health.Down, Results: []guardian.Result{{Reason: "connect: refused"}}}
	r := a.must(200, "GET", web+"/backends/0/check", "")
	for path, want := range map[string]any{
		"params.status": "up", "params.reason": "1 of the 2 addresses of pool.example are used, see addresses",
		"params.addresses.0.address": "10.0.0.1", "params.addresses.0.port": 80, "params.addresses.0.status": "up", "params.addresses.0.probes.results.0.healthy": "true",
		"params.addresses.1.address": "10.0.0.2", "params.addresses.1.status": "down", "params.addresses.1.probes.results.0.reason": "connect: refused",
	} {
		r.want(t, path, want)
	}
	// A backend in maintenance, and one with a single address, have no list of addresses.
	a.must(200, "GET", web+"/backends/1/check", "").want(t, "params.addresses", nil)
	a.must(200, "PUT", web+"/backends/0/maintenance", `{"action":"maintenance"}`)
	a.must(200, "GET", web+"/backends/0/check", "").want(t, "params.addresses", nil)
}
