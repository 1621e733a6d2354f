package api_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// watchman is a guardian with predefined results.
type watchman struct {
	mu    sync.Mutex
	found map[uint32]guardian.Finding
	tried []probe.Target
}

func (w *watchman) Look(backend uint32) (guardian.Finding, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, is := w.found[backend]
	return f, is
}

func (w *watchman) Try(_ context.Context, command string, to probe.Target, limit time.Duration) (guardian.Result, []string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = append(w.tried, to)
	return guardian.Result{At: time.Unix(1, 0), Took: limit, Reason: "refused"}, []string{"hello " + command}, nil
}

// nameserver resolves every name to one address.
func nameserver(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("192.0.2.9")}, nil
}

// watched installs a watchman in an appliance.
func watched(w *watchman) func(*apitest.Parts) {
	return func(d *apitest.Parts) {
		d.Checks.Guardian, d.Checks.Passive = w, func(uint32) health.State { return health.Up }
		d.Checked = func(backend uint32) string {
			if f, is := w.Look(backend); is && f.Verdict == health.Down {
				return "fails check alive: refused"
			}
			return ""
		}
	}
}

const fg = "/monitoring/fg"

func TestChecksAreKeptAsTheFamilyHasThem(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "GET", fg+"/check_tcp", "").want(t, "params.template", "true")
	r := a.must(200, "POST", fg, `{"name":"alive"}`)
	for name, want := range map[string]any{"name": "alive", "description": "", "command": "", "interval": 10, "timeout": 10, "log": "false", "cut_conns": "false", "template": "false", "backend_alias": "false", "rise": 2, "fall": 1} {
		r.want(t, "params."+name, want)
	}
	a.do("POST", fg, `{"name":"alive"}`).refused(t, 400, "exists already")
	a.do("POST", fg, `{"name":"check_tcp"}`).refused(t, 400, "exists already")
	a.do("POST", fg, `{"name":"b","copy_from":"nobody"}`).refused(t, 404, "does not exist")
	a.do("POST", fg, `{"name":"../x"}`).refused(t, 400, "name must be")
	a.do("POST", fg, `{"name":"a","command":"check_tcp 'x"}`).refused(t, 400, "a quote is not closed")
	a.must(200, "PUT", fg+"/alive", `{"command":"check_tcp -H HOST -p PORT","interval":5,"timeout":"2","log":"true","cut_conns":true}`).want(t, "params.timeout", 2)
	copied := a.must(200, "POST", fg, `{"name":"other","copy_from":"alive","interval":7}`)
	copied.want(t, "params.interval", 7)
	copied.want(t, "params.cut_conns", "true")
	of := a.must(200, "POST", fg, `{"name":"ours","copy_from":"check_http"}`)
	of.want(t, "params.template", "false")
	of.want(t, "params.interval", 15)
	if command, _ := of.at("params.command").(string); !strings.HasPrefix(command, "check_http ") {
		t.Errorf("a copy of a template asks %q", command)
	}
	a.must(200, "DELETE", fg+"/other", "")
	a.do("GET", fg+"/other", "").refused(t, 404, "does not exist")
	a.do("DELETE", fg+"/other", "").refused(t, 404, "does not exist")
	// The interval of a template can be changed, and the template can be reset.
	a.must(200, "PUT", fg+"/check_tcp", `{"interval":3}`).want(t, "params.template", "true")
	a.do("PUT", fg+"/check_tcp", `{"command":"check_ping"}`).refused(t, 400, "of a template cannot be changed")
	a.do("PUT", fg+"/check_tcp", `{"description":"x"}`).refused(t, 400, "of a template cannot be changed")
	a.must(200, "GET", fg+"/check_tcp", "").want(t, "params.interval", 3)
	a.must(200, "DELETE", fg+"/check_tcp", "")
	a.must(200, "GET", fg+"/check_tcp", "").want(t, "params.interval", 15)
	a.do("DELETE", fg+"/check_tcp", "").refused(t, 400, "is a template")
	a.must(200, "GET", fg+"?name=alive", "").want(t, "params.0.interval", 5)
}

// later is the time of results that come after every change.
var later = time.Now().Add(time.Hour)

// incapable is a watchman that cannot run a check.
type incapable struct {
	*watchman
	check string
}

func (w *incapable) Look(uint32) (guardian.Finding, bool) {
	return guardian.Finding{Check: w.check, Results: []guardian.Result{{At: later, Reason: "not asked: no ping is possible here", Local: true}}}, true
}

// Every way to link a check that cannot run reports the reason at once, and so does a new
// command of one that is linked.
func TestEveryWayToLinkACheckReportsThatItCannotAsk(t *testing.T) {
	w := &incapable{check: "alive"}
	a := newAppliance(t, watched(&watchman{}), func(d *apitest.Parts) { d.Checks.Guardian = w })
	a.shop(1)
	a.dns(1)
	a.gslb()
	a.must(200, "POST", fg, `{"name":"alive","command":"check_ping -H HOST"}`)
	reports := func(what string, r reply, path string) {
		t.Helper()
		if text := fmt.Sprint(r.at(path)); !strings.Contains(text, "the check alive cannot ask backend") || !strings.Contains(text, "no ping is possible here") {
			t.Errorf("%s: %s is %q", what, path, text)
		}
	}
	silent := func(what string, r reply) {
		t.Helper()
		if text := r.raw; strings.Contains(text, "cannot ask") {
			t.Errorf("%s: %s", what, text)
		}
	}
	for _, path := range []string{web, "/farms/dns", "/farms/names/services/shop"} {
		reports(path, a.must(200, "PUT", path, `{"farmguardian":"alive"}`), "warning")
		silent(path+" again", a.must(200, "PUT", path, `{"farmguardian":"alive"}`))
		silent(path+" unlinked", a.must(200, "PUT", path, `{"farmguardian":""}`))
	}
	silent("no other check", a.must(200, "PUT", web, `{"farmguardian":"check_tcp"}`))
	reports("a transaction", a.must(200, "POST", "/transactions", `{"writes":[{"method":"PUT","path":"`+web+`","body":{"farmguardian":"alive"}}]}`), "params.warnings")
	silent("a dry run", a.must(200, "PUT", "/farms/dns?dry_run=true", `{"farmguardian":"alive"}`))
	linked := a.must(200, "GET", "/config", "").raw
	_, now := a.applier.Current()
	revision := fmt.Sprint(now.Number)
	reports("a new command", a.must(200, "PUT", fg+"/alive", `{"command":"check_ping -H HOST -p 2","force":"true"}`), "warning")
	silent("a new interval", a.must(200, "PUT", fg+"/alive", `{"interval":9}`))
	a.must(200, "PUT", "/config", "farms: []\nchecks: []\n", "Content-Type", "application/yaml")
	reports("a document", a.must(200, "PUT", "/config", linked, "Content-Type", "application/yaml"), "params.warnings")
	a.must(200, "PUT", web, `{"farmguardian":""}`)
	reports("a rollback", a.must(200, "POST", "/history/rollback", `{"revision":`+revision+`}`), "params.warnings")
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	reports("a start", a.must(200, "PUT", "/farms/shop/actions", `{"action":"start"}`), "warning")
	a.must(201, "POST", "/system/backup", `{"name":"linked"}`)
	a.must(200, "PUT", web, `{"farmguardian":""}`)
	restored := a.must(200, "POST", "/system/backup/linked/actions", `{"action":"apply"}`)
	reports("a restore", restored, "warning")
	reports("a restore, as a list", restored, "params.warnings")
	reports("a copy of a farm", a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","copy_from":"shop","vip":"192.0.2.10","vport":81}`), "warning")
}

// So does the way of generations before 3.2, whose checks are fields of farms and services.
func TestGeneration3ReportsACheckThatCannotAsk(t *testing.T) {
	w := &incapable{}
	a := newAppliance(t, watched(&watchman{}), func(d *apitest.Parts) { d.Checks.Guardian = w })
	a.shop(1)
	a.dns(1)
	for _, c := range []struct{ path, check, service string }{{"/farms/shop/fg", "shop_web_fg", `"service":"web",`}, {"/farms/dns/fg", "dns_fg", ""}} {
		w.check = c.check
		for _, body := range []string{`"fgenabled":"true","fgscript":"check_ping -H HOST"}`, `"fgscript":"check_ping -H HOST -p 2"}`} {
			text := fmt.Sprint(a.old("PUT", c.path, "{"+c.service+body).at("warning"))
			if !strings.HasPrefix(text, "the check "+c.check+" cannot ask backend") || !strings.HasSuffix(text, "no ping is possible here") {
				t.Errorf("%s %s: %q", c.path, body, text)
			}
		}
		if text := a.old("PUT", c.path, "{"+c.service+`"fgtimecheck":9}`).at("warning"); text != nil {
			t.Errorf("%s: an interval: %v", c.path, text)
		}
	}
}

// Linking a check that cannot run reports the reason at once.
func TestLinkingACheckThatCannotAskReportsIt(t *testing.T) {
	w := &watchman{found: map[uint32]guardian.Finding{}}
	a := newAppliance(t, watched(w))
	a.shop(1)
	a.must(200, "POST", fg, `{"name":"alive","command":"check_ping"}`)
	id := a.config().Farm("shop").Services()[0].Backends[0].ID
	w.found[id] = guardian.Finding{Check: "alive", Results: []guardian.Result{{At: later, Reason: "not asked: no ping is possible here", Local: true}}}
	if text := fmt.Sprint(a.must(200, "POST", web+"/fg", `{"name":"alive"}`).at("warning")); !strings.Contains(text, "cannot ask backend") || !strings.Contains(text, "no ping is possible here") {
		t.Errorf("the warning is %q", text)
	}
	a.must(200, "DELETE", web+"/fg/alive", "")
	w.found[id] = guardian.Finding{Check: "alive", Results: []guardian.Result{{At: later, Reason: "refused"}}}
	if text := fmt.Sprint(a.must(200, "POST", web+"/fg", `{"name":"alive"}`).at("warning")); strings.Contains(text, "cannot ask") {
		t.Errorf("of a check that asks: %q", text)
	}
}

func TestChecksAreLinkedWithFarmsAndServices(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	a.must(200, "POST", fg, `{"name":"alive","command":"check_tcp -H HOST -p PORT"}`)
	a.must(200, "POST", web+"/fg", `{"name":"alive"}`).want(t, "params.name", "alive")
	a.must(200, "POST", "/farms/dns/fg", `{"name":"check_tcp"}`)
	a.do("POST", "/farms/dns/fg", `{"name":"check_tcp"}`).refused(t, 400, "already")
	a.do("POST", web+"/fg", `{"name":"check_tcp"}`).refused(t, 400, "has the health check alive already")
	a.do("POST", "/farms/shop/fg", `{"name":"alive"}`).refused(t, 400, "name one of these too")
	a.do("POST", "/farms/dns/fg", `{"name":"nobody"}`).refused(t, 404, "does not exist")
	a.must(200, "GET", web, "").want(t, "services.farmguardian", "alive")
	a.must(200, "GET", "/farms/dns", "").want(t, "params.farmguardian", "check_tcp")
	a.must(200, "GET", fg+"/alive", "").want(t, "params.farms.0", "shop_web")
	a.must(200, "GET", fg+"/check_tcp", "").want(t, "params.farms.0", "dns")
	a.must(200, "GET", "/ids", "").want(t, "params.farms.shop.services.web.fg.alive", nil)
	// It is in use.
	a.do("DELETE", fg+"/alive", "").refused(t, 400, "unlink it first from shop_web")
	a.do("PUT", fg+"/alive", `{"command":"check_tcp -H HOST -p 8080"}`).refused(t, 400, "force")
	a.do("PUT", fg+"/alive", `{"backend_alias":"true"}`).refused(t, 400, "force")
	a.must(200, "PUT", fg+"/alive", `{"interval":4}`)
	a.must(200, "PUT", fg+"/alive", `{"command":"check_tcp -H HOST -p 8080","force":"true"}`)
	// A renamed farm keeps its check, and so does its copy.
	a.must(200, "PUT", "/farms/shop", `{"newfarmname":"store"}`)
	a.must(200, "GET", fg+"/alive", "").want(t, "params.farms.0", "store_web")
	a.do("DELETE", "/farms/dns/fg/alive", "").refused(t, 400, "is not linked")
	a.must(200, "DELETE", "/farms/dns/fg/check_tcp", "")
	a.must(200, "DELETE", "/farms/store/services/web/fg/alive", "")
	a.must(200, "DELETE", fg+"/alive", "")
	a.must(200, "GET", "/farms/dns", "").want(t, "params.farmguardian", "")
	// A document without checks leaves them unchanged.
	a.must(200, "POST", fg, `{"name":"kept","command":"check_tcp -H HOST"}`)
	a.must(200, "PUT", "/config", `{"farms":[]}`)
	a.must(200, "GET", fg+"/kept", "")
	a.must(200, "PUT", "/config", `{"checks":[],"farms":[]}`)
	a.do("GET", fg+"/kept", "").refused(t, 404, "does not exist")
}

func TestPasswordsOfChecksAreForWhoMayChangeThem(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "POST", fg, `{"name":"db","command":"check_mysql -H HOST -P PORT -u mon --password=hunter22"}`)
	a.people()
	mayChange := a.must(200, "GET", fg+"/db", "").raw
	mayLook := a.as("GET", fg+"/db", "").raw
	if !strings.Contains(mayChange, "--password=sealed-") || strings.Contains(mayLook, "sealed-") || !strings.Contains(mayLook, "***") || strings.Contains(mayChange+mayLook, "hunter22") {
		t.Errorf("%s\n%s", mayChange, mayLook)
	}
	if r := a.as("PUT", fg+"/db", `{"interval":3}`); r.status != 403 {
		t.Errorf("a user with read rights changes a check: %d", r.status)
	}
	// Responses do not name hidden farms, and changes of their checks are rejected.
	a.shop(1)
	a.must(200, "POST", web+"/fg", `{"name":"db"}`)
	if err := a.users.GiveRole("team", "administration"); err != nil {
		t.Fatal(err)
	}
	if r := a.as("GET", fg+"/db", ""); strings.Contains(r.raw, "shop") {
		t.Error(r.raw)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		if r := a.as(method, fg+"/db", `{"interval":3}`); r.status != 403 || strings.Contains(r.raw, "shop") {
			t.Errorf("%s: %d %s", method, r.status, r.raw)
		}
	}
}

// Reading a check and sending it back, as clients of the family do, changes nothing. Nor
// does sending the same password again.
func TestPasswordsOfChecksAreShownSealedAndTakenBack(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	const plain = `check_mysql -H HOST -P PORT -u mon -p hunter22`
	a.must(200, "POST", fg, `{"name":"db","command":"`+plain+`"}`)
	a.must(200, "POST", web+"/fg", `{"name":"db"}`)
	read, _ := a.must(200, "GET", fg+"/db", "").at("params.command").(string)
	if !strings.HasPrefix(read, "check_mysql -H HOST -P PORT -u mon -p sealed-") {
		t.Fatalf("it is shown as %s", read)
	}
	before := a.written()
	for _, command := range []string{read, plain} { // in use, without force
		a.must(200, "PUT", fg+"/db", `{"command":"`+command+`"}`).want(t, "params.command", read)
	}
	document := a.must(200, "GET", "/config", "").raw
	if !strings.Contains(document, read) {
		t.Error(document)
	}
	if a.written() != before {
		t.Error("something was changed")
	}
	a.do("PUT", fg+"/db", `{"command":"check_mysql -H HOST -P PORT -u mon -p another"}`).refused(t, 400, "force")
	changed := a.must(200, "PUT", fg+"/db", `{"command":"check_mysql -H HOST -P PORT -u mon -p another","force":"true"}`)
	copied := a.must(200, "POST", fg, `{"name":"copy","copy_from":"db"}`)
	all := changed.raw + copied.raw + document + a.must(200, "GET", "/history", "").raw + a.must(200, "GET", "/history/4", "").raw + a.must(200, "GET", "/history/4/diff", "").raw
	if strings.Contains(all, "hunter22") || strings.Contains(all, "another") || strings.Count(all, "sealed-") < 4 {
		t.Error(all)
	}
	a.do("PUT", fg+"/db", `{"command":"check_pgsql -H HOST -l mon -p `+read[strings.Index(read, "sealed-"):]+`","force":"true"}`).refused(t, 400, "for another program than check_pgsql, and cannot be read here: write the password itself")
	if r := a.must(200, "POST", fg+"/db/run", `{"host":"127.0.0.1","port":3306}`); !strings.Contains(r.raw, "hello check_mysql") || strings.Contains(r.raw, "another") {
		t.Error(r.raw) // the prober unseals it, outside of the API
	}
}

func TestTheHealthOfABackendIsExplained(t *testing.T) {
	w := &watchman{found: map[uint32]guardian.Finding{}}
	a := newAppliance(t, watched(w))
	a.shop(2)
	a.must(200, "POST", fg, `{"name":"alive","command":"check_tcp -H HOST -p PORT"}`)
	one := web + "/backends/0/check"
	a.must(200, "GET", one, "").want(t, "params.reason", "connections to it succeed; no health check is linked with service web of farm shop")
	a.must(200, "POST", web+"/fg", `{"name":"alive"}`)
	id := a.config().Farm("shop").Services()[0].Backends[0].ID
	w.found[id] = guardian.Finding{Check: "alive", Verdict: health.Down, Since: time.Unix(5, 0), Against: 1, Needed: 2, Next: time.Unix(20, 0),
		Results: []guardian.Result{{At: time.Unix(10, 0), Took: 1500 * time.Microsecond}, {At: time.Unix(5, 0), Took: time.Second, Reason: "refused"}}}
	r := a.must(200, "GET", one, "")
	for at, want := range map[string]any{
		"reason": "it fails check alive: refused", "probes.check": "alive", "probes.verdict": "down", "probes.against": 1, "probes.needed": 2, "passive": "up",
		"probes.results.0.healthy": "true", "probes.results.0.took": 1.5, "probes.results.1.reason": "refused", "probes.since": "1970-01-01T00:00:05Z",
	} {
		r.want(t, "params."+at, want)
	}
	a.do("GET", web+"/backends/7/check", "").refused(t, 404, "does not exist")
	a.must(200, "PUT", web+"/backends/0/maintenance", `{"action":"maintenance"}`)
	a.must(200, "GET", one, "").want(t, "params.reason", "an operator took it out; it is not asked")
}

func TestACheckIsTriedOnAServer(t *testing.T) {
	w := &watchman{}
	a := newAppliance(t, watched(w))
	r := a.must(200, "POST", fg+"/check_tcp/run", `{"host":"10.0.0.7","port":80}`)
	r.want(t, "params.healthy", "false")
	r.want(t, "params.reason", "refused")
	r.want(t, "params.took", 15000)
	r.want(t, "params.conversation.0", "hello check_tcp -p PORT -H HOST")
	a.must(200, "POST", fg+"/check_tcp/run", `{"host":"web.example","port":80,"timeout":3}`).want(t, "params.address", "192.0.2.9")
	if to := w.tried[1]; to.Name != "web.example" || to.Port != 80 {
		t.Errorf("the target is %+v", to)
	}
	a.do("POST", fg+"/check_tcp/run", `{"host":"10.0.0.7"}`).refused(t, 400, "port is required")
	a.do("POST", fg+"/check_common/run", `{"host":"10.0.0.7"}`).refused(t, 400, "has no command")
	a.do("POST", fg+"/check_tcp/run", `{"host":"10.0.0.7","port":80,"timeout":61}`).refused(t, 400, "timeout must be")
	a.do("POST", fg+"/nobody/run", `{"host":"10.0.0.7"}`).refused(t, 404, "does not exist")
}
