package api_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
)

func TestAFarmIsCreatedReadChangedAndDeleted(t *testing.T) {
	a := newAppliance(t)
	r := a.must(201, "POST", "/farms", `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":"80"}`)
	r.want(t, "params.farmname", "shop")
	r.want(t, "params.vport", 80)
	r = a.must(200, "GET", "/farms", "")
	r.want(t, "params.0.farmname", "shop")
	r.want(t, "params.0.profile", "http")
	r.want(t, "params.0.status", "critical")
	r.want(t, "params.0.vip", "192.0.2.10")
	r.want(t, "params.0.vport", "80")

	r = a.must(200, "PUT", "/farms/shop", `{"contimeout":"5","resurrectime":10,"error503":"try later"}`)
	r.want(t, "params.contimeout", 5)
	r.want(t, "params.resurrectime", 10)
	r = a.must(200, "GET", "/farms/shop", "")
	r.want(t, "params.contimeout", 5)
	r.want(t, "params.restimeout", 45)
	r.want(t, "params.error503", "try later")
	r.want(t, "params.httpverb", "any")
	r.want(t, "params.listener", "http")

	a.must(200, "GET", "/farms/shop/summary", "").want(t, "params.status", "critical")
	a.must(200, "GET", "/farms/shop/status", "").want(t, "params.status", "critical")
	a.must(200, "DELETE", "/farms/shop", "").want(t, "success", "true")
	a.do("GET", "/farms/shop", "").refused(t, 404, "shop", "does not exist")
}

func TestFarmCreationRefusesWhatTheContractRefuses(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	for name, c := range map[string]struct {
		body   string
		status int
		texts  []string
	}{
		"name taken":     {`{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":81}`, 400, []string{"farmname", "shop", "exists"}},
		"vip not local":  {`{"farmname":"b","profile":"http","vip":"192.0.2.99","vport":81}`, 400, []string{"vip", "192.0.2.99"}},
		"vip no address": {`{"farmname":"b","profile":"http","vip":"nowhere","vport":81}`, 400, []string{"vip", "nowhere"}},
		"port range":     {`{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":65536}`, 400, []string{"vport", "65535"}},
		"port text":      {`{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":"x"}`, 400, []string{"vport"}},
		"port in use":    {`{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":80}`, 400, []string{"vport", "shop"}},
		"profile":        {`{"farmname":"b","profile":"ftp","vip":"192.0.2.10","vport":81}`, 400, []string{"profile", "http"}},
		"missing":        {`{"farmname":"b","profile":"http","vip":"192.0.2.10"}`, 400, []string{"vport", "required"}},
		"unknown field":  {`{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81,"vipp":"x"}`, 400, []string{"vipp", "vip"}},
		"name 0":         {`{"farmname":"0","profile":"http","vip":"192.0.2.10","vport":81}`, 400, []string{"farmname", "reserved"}},
		"empty name":     {`{"farmname":"","profile":"http","vip":"192.0.2.10","vport":81}`, 400, []string{"farmname"}},
		"copy of none":   {`{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81,"copy_from":"none"}`, 404, []string{"none"}},
		"null name":      {`{"farmname":null,"profile":"http","vip":"192.0.2.10","vport":81}`, 400, []string{"farmname"}},
		"list":           {`{"farmname":["b"],"profile":"http","vip":"192.0.2.10","vport":81}`, 400, []string{"farmname", "list"}},
		"unknown list":   {`{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81,"addheader":[{"id":[0]}]}`, 400, []string{`unknown field "addheader"`}},
		"endless list":   {`{"farmname":` + strings.Repeat("[", 1000), 400, []string{"JSON", "too early"}},
		"twice":          {`{"farmname":"b","farmname":"c","profile":"http","vip":"192.0.2.10","vport":81}`, 400, []string{"farmname", "twice"}},
		"broken":         {`{"farmname":"b",`, 400, []string{"JSON"}},
		"trailing":       {`{"farmname":"b"} {"farmname":"c"}`, 400, []string{"JSON"}},
		"no object":      {`["farmname"]`, 400, []string{"object"}},
		"not UTF-8":      {"{\"farmname\":\"\xff\"}", 400, []string{"UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			a.t = t
			a.do("POST", "/farms", c.body).refused(t, c.status, c.texts...)
			if n := len(a.config().Farms); n != 1 {
				t.Fatalf("%d farms afterwards", n)
			}
		})
	}
}

// Hostile names are neither stored nor executed.
func TestHostileNamesAreRefusedEverywhere(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	before := a.store
	_, revision := before.Current()
	for _, name := range []string{"../x", "-rf", "-rf /", "$(id)", "`id`", "a\nb", "a\x00b", "0", "", "<script>", "ѕhop", "a b", "a/b", strings.Repeat("a", 10_000)} {
		quoted := quote(name)
		a.do("POST", "/farms", `{"farmname":`+quoted+`,"profile":"http","vip":"192.0.2.10","vport":81}`).refused(t, 400, "farmname")
		a.do("POST", "/farms/shop/services", `{"id":`+quoted+`}`).refused(t, 400, "id")
		a.do("PUT", "/farms/shop", `{"newfarmname":`+quoted+`}`).refused(t, 400, "newfarmname")
		if name != "" {
			a.do("PUT", "/farms/shop/services/web/backends/0", `{"ip":`+quoted+`}`).refused(t, 400, "ip")
		}
	}
	for _, alias := range []string{"../x", "-rf", "$(id)", "`id`", "a\nb", "a\x1b[31m", "0", "<script>", "ѕhop", strings.Repeat("a", 10_000)} {
		a.do("PUT", "/farms/shop/services/web/backends/0", `{"alias":`+quote(alias)+`}`).refused(t, 400, "alias")
	}
	if _, now := before.Current(); now.Number != revision.Number {
		t.Errorf("revision %d became %d: something was written", revision.Number, now.Number)
	}
}

func TestCopyTakesEverythingButNameAndAddress(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.must(200, "PUT", "/farms/shop", `{"reqtimeout":7}`)
	a.must(201, "POST", "/farms", `{"farmname":"twin","profile":"http","vip":"192.0.2.10","vport":81,"copy_from":"shop"}`)
	r := a.must(200, "GET", "/farms/twin", "")
	r.want(t, "params.reqtimeout", 7)
	r.want(t, "params.vport", 81)
	r.want(t, "services.0.id", "web")
	r.want(t, "services.0.backends.1.ip", "10.0.0.2")
	shop, twin := a.config().Farm("shop"), a.config().Farm("twin")
	if shop.ID == twin.ID || shop.HTTP.Services[0].Backends[0].ID == twin.HTTP.Services[0].Backends[0].ID {
		t.Error("the copy shares stable numbers with the original")
	}
}

func TestARunningFarmIsRenamedToAFreeName(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":81}`)
	a.do("PUT", "/farms/shop", `{"newfarmname":"other"}`).refused(t, 400, "newfarmname", "exists")
	was := a.config().Farm("shop")
	a.must(200, "PUT", "/farms/shop", `{"newfarmname":"store"}`)
	if is := a.config().Farm("store"); is == nil || is.ID != was.ID || is.Stopped || is.HTTP.Services[0].ID != was.HTTP.Services[0].ID || is.HTTP.Services[0].Backends[0].ID != was.HTTP.Services[0].Backends[0].ID {
		t.Errorf("renamed farm %+v, want the stable numbers of %+v", is, was)
	}
	a.do("GET", "/farms/shop", "").refused(t, 404)
}

func TestActionsStartStopAndRestart(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`).want(t, "params.status", "down")
	a.must(200, "PUT", "/farms/shop", `{"contimeout":3}`) // a stopped farm can be edited
	r := a.must(200, "PUT", "/farms/shop/actions", `{"action":"start"}`)
	r.want(t, "params.action", "start")
	r.want(t, "params.status", "up")
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"restart"}`).want(t, "params.status", "up")
	a.do("PUT", "/farms/shop/actions", `{"action":"explode"}`).refused(t, 400, "action", "start")
	a.do("PUT", "/farms/none/actions", `{"action":"start"}`).refused(t, 404)
}

func TestStartVerifiesTheVIP(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	gone := newAppliance(t, withoutAddresses)
	gone.t = t
	gone.must(200, "PUT", "/config", "farms:\n- name: shop\n  profile: http\n  vip: 192.0.2.10\n  vport: 80\n  stopped: true\n", "Content-Type", "application/yaml")
	gone.do("PUT", "/farms/shop/actions", `{"action":"start"}`).refused(t, 400, "vip", "192.0.2.10")
	gone.do("PUT", "/farms/shop/actions", `{"action":"restart"}`).refused(t, 400, "vip")
}

func TestAFarmThatCannotListenSaysWhy(t *testing.T) {
	const taken = "listen on 192.0.2.10:80: address in use"
	a := newAppliance(t)
	a.engine.problems["shop"] = taken
	a.do("POST", "/farms", `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}`).refused(t, 400, taken)
	delete(a.engine.problems, "shop")
	a.shop(1)
	a.engine.problems["shop"] = taken
	if _, err := a.applier.Republish(t.Context()); err != nil { // as after a restart of the engine
		t.Fatal(err)
	}
	r := a.must(200, "GET", "/farms/shop/status", "")
	r.want(t, "params.status", "down")
	r.want(t, "params.problem", taken)
	a.do("PUT", "/farms/shop/actions", `{"action":"start"}`).refused(t, 400, taken)
	a.do("PUT", "/farms/shop/actions", `{"action":"restart"}`).refused(t, 400, taken)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	a.do("PUT", "/farms/shop/actions", `{"action":"start"}`).refused(t, 400, taken)
	a.must(200, "GET", "/farms/shop/status", "").want(t, "params.status", "down")
}

func TestAStoppedFarmSaysWhyItsLastStartWasRefused(t *testing.T) {
	const taken = "cannot listen on 192.0.2.10:80: another program uses this address and port already"
	const told = "the last start was refused: " + taken + "; remove the cause, or change vip or vport, then start the farm again"
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	shows := func(problem any) {
		t.Helper()
		for path, at := range map[string]string{
			"/farms": "params.0.", "/farms/shop": "params.", "/farms/shop/summary": "params.", "/farms/shop/status": "params.", "/status": "params.farms.0.",
		} {
			r := a.must(200, "GET", path, "")
			r.want(t, at+"status", "down")
			r.want(t, at+"problem", problem)
		}
	}
	shows(nil)
	a.engine.problems["shop"] = taken
	for _, action := range []string{"start", "restart"} {
		a.do("PUT", "/farms/shop/actions", `{"action":"`+action+`"}`).refused(t, 400, taken)
		shows(told)
	}
	a.must(200, "PUT", "/farms/shop", `{"contimeout":3}`)
	shows(told)
	a.must(200, "PUT", "/farms/shop", `{"vport":81}`)
	shows(nil)
	a.do("PUT", "/farms/shop/actions", `{"action":"start"}`).refused(t, 400, taken)
	delete(a.engine.problems, "shop")
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"start"}`)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	shows(nil)
}

func TestAStoppedFarmWhoseVIPIsGoneSaysSo(t *testing.T) {
	a := newAppliance(t, withoutAddresses)
	a.must(200, "PUT", "/config", "farms:\n- name: shop\n  profile: http\n  vip: 192.0.2.10\n  vport: 80\n  stopped: true\n", "Content-Type", "application/yaml")
	for _, action := range []string{"start", "restart"} {
		a.do("PUT", "/farms/shop/actions", `{"action":"`+action+`"}`).refused(t, 400, "vip")
		r := a.must(200, "GET", "/farms/shop/status", "")
		if text, _ := r.at("params.problem").(string); !strings.Contains(text, "192.0.2.10") || !strings.Contains(text, "add it to an interface first") {
			t.Errorf("after %s the problem is %q", action, text)
		}
		a.must(200, "PUT", "/farms/shop", `{"vport":`+strconv.Itoa(80+len(action))+`}`)
	}
}

func TestWhatKeepsAFarmFromServingIsItsProblem(t *testing.T) {
	silent, away := "", ""
	var dropped []string
	var answer explain.Explanation
	a := newAppliance(t, func(d *apitest.Parts) {
		d.State.Silent = func(uint32) string { return silent }
		d.State.Unreachable = func(*farm.Farm) string { return away }
		d.State.Warnings = func(*farm.Farm) []string { return dropped }
		d.Farms.Explain = func(context.Context, explain.Question) (*explain.Explanation, error) { return &answer, nil }
	})
	a.shop(2)
	everywhere := func(status string, problem any) {
		t.Helper()
		for path, at := range map[string]string{"/farms": "params.0.", "/status": "params.farms.0.", "/farms/shop": "params.", "/farms/shop/status": "params."} {
			r := a.must(200, "GET", path, "")
			r.want(t, at+"status", status)
			r.want(t, at+"problem", problem)
		}
	}
	everywhere("up", nil)
	silent = "accepts connections and does not answer"
	everywhere("problem", "backend 0 (10.0.0.1) of service web accepts connections and does not answer; backend 1 (10.0.0.2) of service web accepts connections and does not answer")
	a.must(200, "GET", web+"/backends", "").want(t, "params.0.problem", silent)
	answer = explain.Explanation{Result: explain.Result{Service: "web"}, Balance: &explain.Balance{Backends: []explain.Backend{{ID: 0, Status: "up", Reason: "it is its turn"}}}}
	a.must(200, "POST", "/farms/shop/explain", `{"url":"/"}`).want(t, "params.balance.backends.0.reason", "it is its turn; it accepts connections and does not answer")
	silent, dropped = "", []string{"inet filter input drops it", "ip own in drops it"}
	everywhere("problem", "inet filter input drops it; ip own in drops it")
	a.must(200, "GET", "/farms/shop/explain", "").want(t, "params.warnings.1", "ip own in drops it")
	a.must(200, "POST", "/farms/shop/explain", `{"url":"/"}`).want(t, "warning", "inet filter input drops it; ip own in drops it")
	dropped = nil
	silent, away = "", "no interface of this machine has the address 10.0.0.5"
	everywhere("down", away)
	a.do("POST", "/farms/shop/explain", `{"url":"/"}`).refused(t, 409, "no interface")
	away = ""
	list := a.config().Farms[0].HTTP.Services[0].Backends
	a.engine.health[list[0].ID], a.engine.health[list[1].ID] = farm.StatusDown, farm.StatusDown
	everywhere("critical", "no backend is usable: backend 0 (10.0.0.1) of service web is down; backend 1 (10.0.0.2) of service web is down")
}
