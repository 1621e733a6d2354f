package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
)

func TestAnL4FarmIsCreatedReadChangedAndDeleted(t *testing.T) {
	a := newAppliance(t)
	r := a.must(201, "POST", "/farms", `{"farmname":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":"443,80,8000:8010"}`)
	r.want(t, "params.farmname", "dns")
	r.want(t, "params.profile", "l4xnat")
	r.want(t, "params.vport", "80,443,8000:8010")
	r = a.must(200, "GET", "/farms", "")
	r.want(t, "params.0.vport", "80,443,8000:8010")
	r.want(t, "params.0.profile", "l4xnat")
	r.want(t, "params.0.status", "critical")
	r = a.must(200, "GET", "/farms/dns", "")
	for name, value := range map[string]any{
		"status": "critical", "vip": "192.0.2.10", "vport": "80,443,8000:8010", "algorithm": "weight", "nattype": "nat", "persistence": "", "ttl": 60,
		"protocol": "tcp", "farmguardian": "", "listener": "l4xnat", "logs": "false", "datapath": "auto", "carrier": "userspace",
		"log_limit": 10, "log_prefix": "l4:dns ", "contimeout": 5, "idle_timeout": 3600, "resurrectime": 10, "grace": 0, "responses": nil, "quic": "false",
		"maxconnections": 0, "source": nil, "mark": 0, "proxyprotocol_in": "off", "proxyprotocol_out": "off",
	} {
		r.want(t, "params."+name, value)
	}
	for _, name := range []string{"params.sessions", "params.trusted", "backends", "ipds.blacklists"} {
		if list, is := r.at(name).([]any); !is || len(list) != 0 {
			t.Errorf("%s is %v", name, r.at(name))
		}
	}
	r = a.must(200, "PUT", "/farms/dns", `{"protocol":"udp","vport":53,"persistence":"ip","ttl":"90","algorithm":"leastconn","responses":1}`)
	r.want(t, "params.ttl", 90)
	r = a.must(200, "GET", "/farms/dns/summary", "")
	r.want(t, "params.persistence", "ip")
	r.want(t, "params.vport", "53")
	r.want(t, "params.responses", 1)
	r.want(t, "params.idle_timeout", 30)
	r.want(t, "params.carrier_reason", "answers are counted in userspace")
	a.must(200, "PUT", "/farms/dns", `{"responses":null,"nattype":"dnat"}`)
	a.must(200, "GET", "/farms/dns", "").want(t, "params.carrier", "kernel")
	a.must(200, "GET", "/farms/dns/status", "").want(t, "params.status", "critical")
	r = a.must(200, "GET", "/farms/modules/summary", "")
	r.want(t, "params.lslb.0.profile", "l4xnat")
	a.must(200, "GET", "/farms/modules/lslb", "").want(t, "params.0.farmname", "dns")
	a.must(200, "DELETE", "/farms/dns", "").want(t, "success", "true")
	a.do("GET", "/farms/dns", "").refused(t, 404, "dns")
}

func TestWordsOfTheContractAreTakenAndAnsweredAsItHasThem(t *testing.T) {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"l4xnat","vip":"192.0.2.10","vport":"137","protocol":"netbios"}`).want(t, "params.protocol", "netbios-ns")
	for sent, answered := range map[string]string{"ip": "ip", "srcip": "ip", "none": "", "srcip_dstport": "srcip_dstport"} {
		a.must(200, "PUT", "/farms/names", `{"persistence":"`+sent+`"}`).want(t, "params.persistence", answered)
		a.must(200, "GET", "/farms/names", "").want(t, "params.persistence", answered)
	}
	a.do("PUT", "/farms/names", `{"persistence":"cookie"}`).refused(t, 400, "srcip_dstport, none", "cookie")
	a.must(201, "POST", "/farms", `{"farmname":"rest","profile":"l4xnat","vip":"127.0.0.9","vport":"*"}`).want(t, "params.protocol", "all")
	a.must(201, "POST", "/farms", `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}`).want(t, "params.protocol", nil)
}

func TestL4FarmsThatCannotBeAreNotCreated(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.dns(0)
	for body, texts := range map[string][]string{
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"x"`:                     {"vport"},
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"90:80"`:                 {"vport"},
		`"profile":"l4xnat","vip":"192.0.2.10"`:                                 {"vport", "required"},
		`"profile":"l4xnat","vip":"192.0.2.99","vport":"90"`:                    {"vip", "192.0.2.99"},
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"70:90"`:                 {"vport", "shop"},
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"*"`:                     {"vport", "collides"},
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"90","copy_from":"shop"`: {"profile", "http"},
		`"profile":"http","vip":"192.0.2.10","vport":"90","copy_from":"dns"`:    {"profile", "l4xnat"},
		`"profile":"http","vip":"192.0.2.10","vport":"90,91"`:                   {"vport"},
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"90","protocol":"sctpp"`: {"protocol"},
		`"profile":"http","vip":"192.0.2.10","vport":"90","protocol":"tcp"`:     {"protocol", "l4xnat"},
		`"profile":"l4xnat","vip":"192.0.2.10","vport":"*","protocol":"udp"`:    {"vport", "protocol"},
	} {
		a.do("POST", "/farms", `{"farmname":"b",`+body+`}`).refused(t, 400, texts...)
	}
	if n := len(a.config().Farms); n != 2 {
		t.Errorf("%d farms afterwards", n)
	}
	a.must(201, "POST", "/farms", `{"farmname":"b","profile":"l4xnat","vip":"192.0.2.10","vport":"53","protocol":"udp"}`)
	a.must(200, "GET", "/farms/b", "").want(t, "params.protocol", "udp")
}

func TestCallsSayWhereBackendsAndServicesAre(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	for _, c := range [][2]string{
		{"POST", "/farms/dns/services"}, {"GET", "/farms/dns/services/web"}, {"PUT", "/farms/dns/services/web"}, {"DELETE", "/farms/dns/services/web"},
		{"GET", "/farms/dns/services/web/backends"}, {"POST", "/farms/dns/services/web/backends"}, {"PUT", "/farms/dns/services/web/backends/0"},
		{"GET", "/farms/dns/services/web/sessions"}, {"GET", "/stats/farms/dns/services/web/backends"}, {"GET", "/farms/dns/services/web/addrequestheader"},
	} {
		a.do(c[0], c[1], `{"id":"web"}`).refused(t, 400, "l4xnat", "no services", "leave the service out")
	}
	for _, c := range [][2]string{
		{"GET", "/farms/shop/backends"}, {"POST", "/farms/shop/backends"}, {"PUT", "/farms/shop/backends/0"}, {"DELETE", "/farms/shop/backends/0"},
		{"PUT", "/farms/shop/backends/0/maintenance"}, {"GET", "/farms/shop/sessions"}, {"POST", "/farms/shop/sessions"}, {"DELETE", "/farms/shop/sessions"}, {"DELETE", "/farms/shop/sessions/x"},
	} {
		a.do(c[0], c[1], `{"ip":"10.0.0.9"}`).refused(t, 400, "of profile http", "name one of these")
	}
	a.do("PUT", "/farms/shop", `{"nattype":"dnat"}`).refused(t, 400, "nattype", "l4xnat farms", "shop is of profile http")
	a.do("PUT", "/farms/dns", `{"httpverb":"standardHTTP"}`).refused(t, 400, "httpverb", "http farms", "dns is of profile l4xnat")
	a.do("PUT", "/farms/dns", `{"nattyp":"dnat"}`).refused(t, 400, "unknown field", "nattype")
	a.do("GET", "/farms/dns/addheader", "").refused(t, 400, "no header rules")
	a.do("DELETE", "/farms/dns/certificates/shop.pem", "").refused(t, 400, "l4xnat")
	a.must(200, "PUT", "/farms/dns", `{"nattype":"dnat"}`)
	a.do("GET", "/farms/dns/trace", "").refused(t, 400, "kernel", "sluice conn list dns")
	a.do("PUT", "/farms/dns", `{}`).want(t, "params.5.name", "protocol") // help, after name, address, port and the description of the farm
}

func TestBackendsOfL4Farms(t *testing.T) {
	a := newAppliance(t)
	a.dns(2)
	r := a.must(200, "GET", "/farms/dns/backends", "")
	for name, value := range map[string]any{"id": 0, "ip": "10.0.0.1", "port": 53, "weight": 1, "priority": 1, "max_conns": 0, "status": "up", "alias": nil, "source": nil, "mark": nil} {
		r.want(t, "params.0."+name, value)
	}
	r.want(t, "params.1.port", nil)
	a.must(200, "PUT", "/farms/dns/backends/1", `{"weight":9,"priority":"2","max_conns":100,"alias":"second"}`)
	r = a.must(200, "GET", "/farms/dns", "")
	r.want(t, "backends.1.max_conns", 100)
	r.want(t, "backends.1.weight", 9)
	a.must(200, "PUT", "/farms/dns/backends/1", `{"weight":null,"priority":null,"max_conns":null,"alias":null}`)
	r = a.must(200, "GET", "/farms/dns", "")
	for name, value := range map[string]any{"weight": 1, "priority": 1, "max_conns": 0, "alias": nil} {
		r.want(t, "backends.1."+name, value)
	}
	for body, texts := range map[string][]string{
		`{"ip":"10.0.0.1","port":53}`: {"unique", "backend 0"}, `{"ip":"10.0.0.9","weight":10}`: {"weight"}, `{"ip":"255.255.255.255"}`: {"broadcast"},
		`{"port":53}`: {"ip", "required"}, `{"ip":"10.0.0.9","connection_limit":5}`: {"connection_limit"}, `{"ip":"10.0.0.9","source":"192.0.2.77"}`: {"source", "192.0.2.77"},
	} {
		a.do("POST", "/farms/dns/backends", body).refused(t, 400, texts...)
	}
	a.must(200, "PUT", "/farms/dns", `{"datapath":"kernel"}`)
	a.do("POST", "/farms/dns/backends", `{"ip":"2001:db8::1"}`).refused(t, 400, "IP version", "set datapath auto")
	a.must(200, "PUT", "/farms/dns", `{"datapath":"auto"}`)
	a.must(201, "POST", "/farms/dns/backends", `{"ip":"10.0.0.3","port":53,"priority":5}`).want(t, "warning", "priority 5 will never be used: with the priorities of the other backends at most 3 is reached")
	r = a.must(200, "PUT", "/farms/dns/backends/2/maintenance", `{"action":"maintenance","mode":"cut"}`)
	r.want(t, "params.mode", "cut")
	r.want(t, "params.farm.status", "maintenance")
	r = a.must(200, "GET", "/farms/dns/backends", "")
	r.want(t, "params.2.status", "maintenance")
	r.want(t, "params.2.maintenance_mode", "cut")
	a.must(200, "PUT", "/farms/dns/backends/2/maintenance", `{"action":"up"}`)
	a.engine.health[a.config().Farm("dns").L4.Backends[0].ID] = farm.StatusDown
	r = a.must(200, "GET", "/farms/dns", "")
	r.want(t, "backends.0.status", "down")
	r.want(t, "params.status", "problem")
	id := a.config().Farm("dns").L4.Backends[2].ID
	a.must(200, "DELETE", "/farms/dns/backends/1", "")
	if left := a.config().Farm("dns").L4.Backends; len(left) != 2 || left[1].ID != id {
		t.Errorf("left: %+v", left)
	}
	a.do("DELETE", "/farms/dns/backends/1", "").refused(t, 404, "backend", "farm dns")
	a.do("PUT", "/farms/dns/backends/-1", `{"weight":1}`).refused(t, 404)
}

func TestBackendsOfL4FarmsKeepTheirNumbers(t *testing.T) {
	a := newAppliance(t)
	a.dns(2)
	a.must(201, "POST", "/farms/dns/backends", `{"ip":"10.0.0.3"}`).want(t, "params.id", 2)
	a.must(200, "PUT", "/farms/dns", `{"persistence":"srcip"}`)
	a.must(201, "POST", "/farms/dns/sessions", `{"id":2,"session":"192.0.2.7"}`)
	a.must(200, "DELETE", "/farms/dns/backends/0", "")
	numbers := func() string {
		var out []string
		list, _ := a.must(200, "GET", "/farms/dns/backends", "").at("params").([]any)
		for _, b := range list {
			b := b.(map[string]any)
			out = append(out, fmt.Sprintf("%v %v", b["id"], b["ip"]))
		}
		return strings.Join(out, ", ")
	}
	if got := numbers(); got != "1 10.0.0.2, 2 10.0.0.3" {
		t.Errorf("after the first was deleted: %s", got)
	}
	a.do("PUT", "/farms/dns/backends/0", `{"weight":2}`).refused(t, 404, "backend 0")
	a.must(200, "GET", "/farms/dns", "").want(t, "params.sessions.0.id", 2)
	a.must(200, "GET", "/stats/farms/dns", "").want(t, "backends.0.id", 1)
	a.do("PUT", "/farms/dns/backends/2", `{"ip":"10.0.0.2"}`).refused(t, 400, "backend 2", "backend 1 is 10.0.0.2")
	r := a.must(201, "POST", "/farms/dns/backends", `{"ip":"10.0.0.9","priority":7}`)
	r.want(t, "params.id", 3)
	r.want(t, "message", "The backend 3 has been added to farm dns.")
	r.want(t, "warning", "priority 7 will never be used: with the priorities of the other backends at most 3 is reached")
	a.must(201, "POST", "/farms/dns/backends", `{"ip":"10.0.0.8"}`).want(t, "params.id", 4)
	if got := numbers(); got != "1 10.0.0.2, 2 10.0.0.3, 3 10.0.0.9, 4 10.0.0.8" {
		t.Errorf("after two were added: %s", got)
	}
	a.must(200, "PUT", "/farms/dns/backends/2/maintenance", `{"action":"maintenance"}`)
	if b := a.config().Farm("dns").L4.Backends[1]; b.Host != "10.0.0.3" || b.Maintenance != farm.MaintenanceDrain {
		t.Errorf("in maintenance: %+v", b)
	}
	// A document is the complete list; remaining backends keep their numbers.
	a.must(200, "PUT", "/config", `{"farms":[{"name":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":53,"backends":[{"ip":"10.0.0.8"},{"ip":"10.0.0.7"},{"ip":"10.0.0.2"}]}]}`)
	if got := numbers(); got != "4 10.0.0.8, 5 10.0.0.7, 1 10.0.0.2" {
		t.Errorf("after a document: %s", got)
	}
}

func TestL4FarmsAreStoppedEditedRenamedCopiedAndStarted(t *testing.T) {
	a := newAppliance(t)
	a.dns(1)
	a.must(200, "PUT", "/farms/dns", `{"ttl":7,"persistence":"srcip"}`)
	a.must(200, "PUT", "/farms/dns/actions", `{"action":"stop"}`).want(t, "params.status", "down")
	a.must(200, "PUT", "/farms/dns", `{"algorithm":"symhash","newfarmname":"names"}`)
	a.must(201, "POST", "/farms/names/backends", `{"ip":"10.0.0.9"}`)
	a.must(200, "PUT", "/farms/names/actions", `{"action":"start"}`).want(t, "params.status", "up")
	a.must(201, "POST", "/farms", `{"farmname":"twin","profile":"l4xnat","vip":"192.0.2.10","vport":"54","copy_from":"names"}`)
	r := a.must(200, "GET", "/farms/twin", "")
	r.want(t, "params.algorithm", "symhash")
	r.want(t, "params.ttl", 7)
	r.want(t, "params.vport", "54")
	r.want(t, "backends.1.ip", "10.0.0.9")
	names, twin := a.config().Farm("names"), a.config().Farm("twin")
	if names.ID == twin.ID || names.L4.ID == twin.L4.ID || names.L4.Backends[0].ID == twin.L4.Backends[0].ID {
		t.Error("the copy shares stable numbers with the original")
	}
}

func TestWhatHasNoEffectIsKeptWithAWarning(t *testing.T) {
	a := newAppliance(t)
	a.dns(1)
	r := a.must(200, "PUT", "/farms/dns", `{"idle_timeout":9,"datapath":"kernel"}`)
	if text, _ := r.at("warning").(string); !strings.Contains(text, "idle_timeout") {
		t.Errorf("warning %q", text)
	}
	a.must(200, "GET", "/farms/dns", "").want(t, "params.idle_timeout", 9)
	a.must(200, "PUT", "/farms/dns", `{"datapath":"auto"}`).want(t, "warning", nil)
	for body, idle := range map[string]int{`{"idle_timeout":0}`: 3600, `{"idle_timeout":0,"datapath":"kernel"}`: 0, `{"idle_timeout":0,"protocol":"udp","datapath":"userspace"}`: 30} {
		a.must(200, "PUT", "/farms/dns", body)
		a.must(200, "GET", "/farms/dns", "").want(t, "params.idle_timeout", idle)
		a.must(200, "PUT", "/farms/dns", `{"protocol":"tcp","datapath":"auto"}`)
	}
	a.must(201, "POST", "/farms", `{"farmname":"direct","profile":"l4xnat","vip":"192.0.2.10","vport":"90"}`)
	a.must(200, "PUT", "/farms/direct", `{"nattype":"dsr"}`)
	a.must(200, "GET", "/farms/direct", "").want(t, "params.idle_timeout", 120)
}

// If two farms conflict, a change of either is warned about it, in any order and for any
// field.
func TestStatelessFarmsWithOneBackendAreInEveryAnswer(t *testing.T) {
	a := newAppliance(t)
	for i, name := range []string{"one", "two"} {
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":"%s","profile":"l4xnat","vip":"192.0.2.10","vport":"%d"}`, name, 90+i))
		a.must(200, "PUT", "/farms/"+name, `{"nattype":"stateless_dnat"}`)
	}
	const text = "a client that comes from one port to both"
	says := func(r reply, other string) {
		t.Helper()
		if got := fmt.Sprint(r.at("warning"), r.at("params.warnings")); !strings.Contains(got, text) || !strings.Contains(got, `running farm "`+other+`"`) {
			t.Errorf("warning %q", got)
		}
	}
	const backend = `{"ip":"10.0.0.7","port":8080}`
	if got := fmt.Sprint(a.must(201, "POST", "/farms/one/backends", backend).at("warning")); strings.Contains(got, text) {
		t.Errorf("one farm alone: %s", got)
	}
	says(a.must(201, "POST", "/farms/two/backends", backend), "one")
	says(a.must(200, "PUT", "/farms/one/backends/0", `{"alias":"b"}`), "two")
	says(a.must(200, "PUT", "/farms/one", `{"ttl":9}`), "two")
	says(a.must(200, "PUT", "/farms/two", `{"ttl":9}`), "one")
	a.must(200, "PUT", "/farms/one/actions", `{"action":"stop"}`)
	says(a.must(200, "PUT", "/farms/one/actions", `{"action":"start"}`), "two")
	says(a.must(200, "PUT", "/farms/one?dry_run=true", `{"ttl":10}`), "two")
	says(a.must(200, "PUT", "/config", a.must(200, "GET", "/config", "").raw), "one")
}

// Responses and explanations say which clients an address does not serve.
func TestWhomAnAddressDoesNotServeIsTold(t *testing.T) {
	a := newAppliance(t)
	for _, c := range [][2]string{
		{`{"farmname":"e","profile":"l4xnat","vip":"127.0.0.9","vport":"94","datapath":"userspace"}`, ""},
		{`{"farmname":"a","profile":"l4xnat","vip":"::","vport":"90"}`, "serves clients by IPv6 only"},
		{`{"farmname":"b","profile":"http","vip":"::","vport":91}`, "serves clients by IPv6 only"},
		{`{"farmname":"c","profile":"gslb","vip":"::","vport":92}`, "serves clients by IPv6 only"},
		{`{"farmname":"d","profile":"l4xnat","vip":"127.0.0.9","vport":"93","datapath":"kernel"}`, "does not serve clients on this machine"},
	} {
		for _, path := range []string{"/farms?dry_run=true", "/farms"} {
			r := a.do("POST", path, c[0])
			if got := fmt.Sprint(r.at("warning"), r.at("params.warnings")); !strings.Contains(got, c[1]) || c[1] == "" && strings.Contains(got, "clients") {
				t.Errorf("%s %s: %q", path, c[0], got)
			}
		}
	}
	for name, want := range map[string]string{"a": "IPv6 only", "d": "clients on this machine"} {
		if got := fmt.Sprint(a.must(200, "GET", "/farms/"+name+"/explain", "").at("params.warnings")); !strings.Contains(got, want) {
			t.Errorf("explanation of %s: %s", name, got)
		}
	}
}

func TestAnL4FarmDoesNotStartWithAVIPThatIsNotHere(t *testing.T) {
	a := newAppliance(t, withoutAddresses)
	a.do("POST", "/farms", `{"farmname":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":"53"}`).refused(t, 400, "vip")
	a.must(201, "POST", "/farms", `{"farmname":"dns","profile":"l4xnat","vip":"127.0.0.9","vport":"53"}`)
	a.must(200, "PUT", "/farms/dns/actions", `{"action":"stop"}`)
	a.must(200, "PUT", "/config", `{"farms":[{"name":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":53,"stopped":true}]}`)
	for _, action := range []string{"start", "restart"} {
		a.do("PUT", "/farms/dns/actions", `{"action":"`+action+`"}`).refused(t, 400, "vip", "192.0.2.10")
	}
}

func TestFarmsInTheKernelRunWithoutAnEngine(t *testing.T) {
	a := newAppliance(t)
	a.dns(1)
	a.must(201, "POST", "/farms", `{"farmname":"kern","profile":"l4xnat","vip":"127.0.0.9","vport":"*"}`)
	a.must(201, "POST", "/farms/kern/backends", `{"ip":"10.0.0.1"}`)
	a.engine.down = true
	a.must(200, "GET", "/farms/dns/status", "").want(t, "params.problem", "the engine is not running")
	a.must(200, "GET", "/farms/kern/status", "").want(t, "params.status", "up")
}

func TestSessionsOfL4Farms(t *testing.T) {
	a := newAppliance(t)
	a.dns(2)
	const path = "/farms/dns/sessions"
	a.do("POST", path, `{"id":0,"session":"192.0.2.7"}`).refused(t, 400, "set persistence first")
	a.must(200, "PUT", "/farms/dns", `{"persistence":"srcip_srcport"}`)
	r := a.must(201, "POST", path, `{"id":1,"session":"192.0.2.7.4022"}`)
	for name, value := range map[string]any{"client": "192.0.2.7 . 4022", "session": "192.0.2.7 . 4022", "id": 1, "type": "static", "ttl": nil, "backend_ip": "10.0.0.2", "backend_port": nil} {
		r.want(t, "params."+name, value)
	}
	if strings.Contains(r.raw, `"service"`) {
		t.Errorf("an l4xnat farm has no services: %s", r.raw)
	}
	a.must(200, "GET", "/farms/dns", "").want(t, "params.sessions.0.client", "192.0.2.7 . 4022")
	a.must(200, "GET", path, "").want(t, "params.0.session", "192.0.2.7 . 4022")
	a.must(200, "GET", path+"?session=192.0.2.7%20.%204022", "").want(t, "params.0.id", 1)
	a.do("POST", path, `{"id":1,"session":"192.0.2.7"}`).refused(t, 400, "4022")
	a.do("POST", path, `{"id":7,"session":"192.0.2.7 . 1"}`).refused(t, 404, "backend")
	a.must(200, "DELETE", path+"/192.0.2.7%20.%204022", "")
	a.do("DELETE", path+"/192.0.2.7%20.%204022", "").refused(t, 404, "farm dns")
	a.must(200, "PUT", "/farms/dns", `{"persistence":"ip"}`)
	a.must(201, "POST", path, `{"id":0,"session":"192.0.2.8"}`)
	a.must(200, "DELETE", path+"/192.0.2.9", "")
	a.must(200, "DELETE", path, "").want(t, "message", "17 dynamic sessions have been deleted from farm dns.")
	a.do("PUT", "/farms/dns", `{"ttl":5,"sessions":[]}`).refused(t, 400, "sessions", "/farms/dns/sessions")
	a.must(200, "PUT", "/farms/dns", `{"persistence":"none"}`)
	a.must(200, "PUT", "/farms/dns", `{"ttl":5,"sessions":[]}`)
	if got := a.config().Farm("dns").L4.Backends[0].Sessions; len(got) != 0 {
		t.Errorf("sessions of a farm that keeps none: %q", got)
	}
}

func TestStatisticsOfL4FarmsComeFromWhoCarriesThem(t *testing.T) {
	a := newAppliance(t)
	a.dns(2)
	a.must(201, "POST", "/farms", `{"farmname":"kern","profile":"l4xnat","vip":"127.0.0.9","vport":"*"}`)
	a.must(201, "POST", "/farms/kern/backends", `{"ip":"10.0.0.1"}`)
	dns, kern := a.config().Farm("dns"), a.config().Farm("kern")
	a.engine.farms[dns.ID] = stats.Farm{Established: 3, Pending: 1, Connections: 10, BytesIn: 100, PacketsIn: 5}
	a.engine.backends[dns.L4.Backends[1].ID] = stats.Backend{Established: 2, Connects: 9, BytesOut: 99, PacketsOut: 4}
	a.engine.farms[kern.ID] = stats.Farm{Established: 999}
	a.engine.kernel = stats.Traffic{Farms: map[uint32]stats.Farm{kern.ID: {Established: 7, PacketsOut: 70}},
		Backends: map[uint32]stats.Backend{kern.L4.Backends[0].ID: {Established: 6, Pending: 1, BytesIn: 60}}}
	r := a.must(200, "GET", "/stats/farms?profile=l4xnat", "")
	for path, value := range map[string]any{
		"farms.0.farmname": "dns", "farms.0.vport": "53,5353", "farms.0.established": 3, "farms.0.pending": 1, "farms.0.counters.connections": 10, "farms.0.counters.packets_in": 5,
		"farms.1.farmname": "kern", "farms.1.vport": "*", "farms.1.established": 7, "farms.1.counters.packets_out": 70, "warning": nil,
	} {
		r.want(t, path, value)
	}
	r = a.must(200, "GET", "/stats/farms/dns", "")
	r.want(t, "backends.1.port", nil)
	r.want(t, "backends.1.established", 2)
	r.want(t, "backends.1.counters.packets_out", 4)
	r.want(t, "farm.established", 3)
	r = a.must(200, "GET", "/stats/farms/kern/backends", "")
	r.want(t, "backends.0.established", 6)
	r.want(t, "backends.0.pending", 1)
	r.want(t, "backends.0.counters.bytes_in", 60)
	if strings.Contains(r.raw, `"service"`) {
		t.Errorf("an l4xnat farm has no services: %s", r.raw)
	}
}
