package api_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
)

const web = "/farms/shop/services/web"

func TestAServiceIsCreatedReadChangedAndDeleted(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.do("POST", "/farms/shop/services", `{"id":"web"}`).refused(t, 400, "id", "exists")
	a.do("POST", "/farms/shop/services", `{"id":"a b"}`).refused(t, 400, "id")
	a.must(201, "POST", "/farms/shop/services", `{"id":"with_underscore"}`).want(t, "params.id", "with_underscore")
	r := a.must(200, "PUT", web, `{"vhost":"shop\\.example\\.com","urlp":"^/cart","persistence":"COOKIE","sessionid":"SID","ttl":"300","routingpolicy":"LEAST_CONNECTIONS"}`)
	r.want(t, "params.ttl", 300)
	r = a.must(200, "GET", web, "")
	r.want(t, "services.id", "web")
	r.want(t, "services.vhost", `shop\.example\.com`)
	r.want(t, "services.persistence", "COOKIE")
	r.want(t, "services.sessionid", "SID")
	r.want(t, "services.routingpolicy", "LEAST_CONNECTIONS")
	r.want(t, "services.redirecttype", nil)
	a.do("PUT", web, `{"urlp":"("}`).refused(t, 400, "urlp", "regular expression")
	a.do("PUT", web, `{"vhost":"^shop"}`).refused(t, 400, "vhost")
	a.must(200, "DELETE", web, "").want(t, "success", "true")
	a.do("GET", web, "").refused(t, 404, "web")
	a.do("DELETE", web, "").refused(t, 404, "web")
	a.do("POST", "/farms/none/services", `{"id":"web"}`).refused(t, 404, "none")
}

func TestRedirectShowsItsFieldsAndDisablesBackends(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "PUT", web, `{"redirect":"https://example.com","redirecttype":"append","redirect_code":301}`)
	r := a.must(200, "GET", web, "")
	r.want(t, "services.redirecttype", "append")
	r.want(t, "services.redirect_code", 301)
	a.do("POST", web+"/backends", `{"ip":"10.0.0.9","port":80}`).refused(t, 400, "redirect")
	a.engine.health[a.config().Farms[0].HTTP.Services[0].Backends[0].ID] = farm.StatusDown
	a.must(200, "GET", "/farms/shop/status", "").want(t, "params.status", "up")
	a.do("PUT", web, `{"redirect":"ftp://example.com"}`).refused(t, 400, "redirect", "http")
	a.must(200, "PUT", web, `{"redirect":""}`)
	a.must(200, "GET", web, "").want(t, "services.redirect_code", nil)
}

func TestServicesAreMoved(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.must(201, "POST", "/farms/shop/services", `{"id":"b"}`)
	a.must(201, "POST", "/farms/shop/services", `{"id":"c"}`)
	order := func() (out string) {
		for _, s := range a.config().Farm("shop").HTTP.Services {
			out += s.Name + " "
		}
		return out
	}
	for _, c := range []struct {
		name string
		to   int
		want string
	}{{"c", 0, "c web b "}, {"c", 2, "web b c "}, {"b", 1, "web b c "}, {"web", 1, "b web c "}} {
		a.must(200, "POST", "/farms/shop/services/"+c.name+"/actions", fmt.Sprintf(`{"position":"%d"}`, c.to))
		if got := order(); got != c.want {
			t.Errorf("%s to %d: %q, want %q", c.name, c.to, got, c.want)
		}
	}
	a.do("POST", web+"/actions", `{"position":3}`).refused(t, 400, "position", "0 to 2")
	a.do("POST", web+"/actions", `{"position":-1}`).refused(t, 400, "position")
}

// A client of the family reads an object, changes a field and sends everything back.
func TestAServiceReadCanBeSentBack(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	body := a.must(200, "GET", web, "").at("services").(map[string]any)
	for _, readOnly := range []string{"id", "backends"} {
		delete(body, readOnly) // fields only the family has
	}
	a.do("PUT", web, quoteAny(body)).refused(t, 400, "actual")
	if r := a.send("PUT", api.FamilyBase+web, quoteAny(body), "ZAPI_KEY", a.key); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

func TestBackendsFollowTheContract(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	all := web + "/backends"
	r := a.must(201, "POST", all, `{"ip":"10.0.0.1","port":8080,"weight":"3","priority":1,"timeout":9,"connection_limit":100,"alias":"first"}`)
	r.want(t, "params.id", 0)
	r.want(t, "status", "up")
	a.must(201, "POST", all, `{"ip":"10.0.0.2","port":"8080"}`).want(t, "params.id", 1)
	r = a.must(200, "GET", all, "")
	r.want(t, "params.0.weight", 3)
	r.want(t, "params.0.connection_limit", 100)
	r.want(t, "params.0.alias", "first")
	r.want(t, "params.1.weight", nil)
	r.want(t, "params.1.priority", nil)
	r.want(t, "params.1.connection_limit", nil)
	r.want(t, "params.1.status", "undefined")
	for _, key := range []string{"weight", "priority", "connection_limit", "timeout", "alias"} {
		if _, there := r.at("params.1").(map[string]any)[key]; !there {
			t.Errorf("%s is missing, want null", key)
		}
	}
	for name, c := range map[string]struct {
		body  string
		texts []string
	}{
		"same address": {`{"ip":"10.0.0.1","port":8080}`, []string{"10.0.0.1"}},
		"broadcast":    {`{"ip":"255.255.255.255","port":80}`, []string{"ip", "broadcast"}},
		"weight":       {`{"ip":"10.0.0.3","port":80,"weight":10}`, []string{"weight", "1 to 9"}},
		"priority":     {`{"ip":"10.0.0.3","port":80,"priority":0}`, []string{"priority", "1 to 9"}},
		"limit":        {`{"ip":"10.0.0.3","port":80,"connection_limit":-1}`, []string{"connection_limit"}},
		"port":         {`{"ip":"10.0.0.3","port":0}`, []string{"port"}},
		"no port":      {`{"ip":"10.0.0.3"}`, []string{"port", "required"}},
		"loop":         {`{"ip":"192.0.2.10","port":80}`, []string{"circle"}},
	} {
		a.do("POST", all, c.body).refused(t, 400, c.texts...)
		if n := len(a.config().Farms[0].HTTP.Services[0].Backends); n != 2 {
			t.Fatalf("%s: %d backends afterwards", name, n)
		}
	}
	a.must(201, "POST", all, `{"ip":"10.0.0.3","port":80,"priority":9}`)
	if r := a.must(200, "PUT", all+"/2", `{"priority":8}`); r.at("warning") == nil {
		t.Errorf("no warning for a priority that is never reached\n%s", r.raw)
	}
	a.do("PUT", all+"/7", `{"weight":1}`).refused(t, 404, "7")
	a.do("PUT", all+"/00", `{"weight":1}`).refused(t, 404)
	a.do("DELETE", all+"/-1", "").refused(t, 404)
	a.must(200, "DELETE", all+"/0", "")
	r = a.must(200, "GET", all, "")
	r.want(t, "params.0.ip", "10.0.0.2")
	r.want(t, "params.0.id", 1) // it keeps its number
	a.must(200, "DELETE", all+"/2", "")
	a.must(201, "POST", all, `{"ip":"10.0.0.4","port":80}`).want(t, "params.id", 3)
	a.do("PUT", all+"/2", `{"weight":1}`).refused(t, 404, "2")
	a.must(200, "PUT", all+"/3", `{"weight":2}`)
	r = a.must(200, "GET", web, "")
	r.want(t, "services.backends.1.id", 3)
	r.want(t, "services.backends.1.weight", 2)
}

func TestNullResetsNumbers(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.must(201, "POST", web+"/backends", `{"ip":"10.0.0.1","port":80,"weight":3,"priority":1,"connection_limit":5}`)
	a.must(200, "PUT", web+"/backends/0", `{"weight":null,"priority":null,"connection_limit":null}`)
	r := a.must(200, "GET", web+"/backends", "")
	r.want(t, "params.0.weight", nil)
	r.want(t, "params.0.priority", nil)
	r.want(t, "params.0.connection_limit", nil)
	a.do("PUT", web+"/backends/0", `{"port":null}`).refused(t, 400, "port")
}

func TestMaintenanceTakesABackendOutAndIn(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	at := web + "/backends/1/maintenance"
	r := a.must(200, "PUT", at, `{"action":"maintenance"}`)
	r.want(t, "params.action", "maintenance")
	r.want(t, "params.farm.status", "maintenance")
	if got := a.config().Farms[0].HTTP.Services[0].Backends[1].Maintenance; got != farm.MaintenanceDrain {
		t.Errorf("mode %q, want drain when none was sent", got)
	}
	a.must(200, "PUT", at, `{"action":"maintenance","mode":"cut"}`)
	r = a.must(200, "GET", web+"/backends", "")
	r.want(t, "params.1.status", "maintenance")
	r.want(t, "params.1.maintenance_mode", "cut")
	a.must(200, "PUT", at, `{"action":"up"}`).want(t, "params.farm.status", "up")
	a.do("PUT", at, `{"action":"sleep"}`).refused(t, 400, "action", "maintenance")
	a.do("PUT", at, `{"action":"maintenance","mode":"kill"}`).refused(t, 400, "mode", "drain")
}
