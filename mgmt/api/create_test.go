package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// state returns values that a rejected creation must not change.
func (a *appliance) state() (published int, revision uint64, farms int) {
	cfg, rev := a.applier.Current()
	return a.engine.published, rev.Number, len(cfg.Farms)
}

func TestACreationTakesEverySettingInOneChange(t *testing.T) {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"base","profile":"http","vip":"192.0.2.10","vport":8080,"reqtimeout":7}`)
	published, revision, _ := a.state()
	r := a.must(201, "POST", "/farms", `{"farmname":"tls","profile":"http","vip":"192.0.2.10","vport":443,"copy_from":"base",
		"listener":"https","disable_http2":true,"contimeout":"5","trusted":["10.0.0.0/8"],"error503":"later"}`)
	r.want(t, "params.farmname", "tls")
	r.want(t, "params.contimeout", 5)
	r.want(t, "params.copy_from", "base")
	a.must(201, "POST", "/farms/tls/services", `{"id":"web","vhost":"shop\\.example","persistence":"COOKIE","sessionid":"SID","ttl":60}`).
		want(t, "params.vhost", `shop\.example`)
	a.must(201, "POST", "/farms", `{"farmname":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":53,"protocol":"udp",
		"nattype":"dsr","algorithm":"hash_srcip","persistence":"ip","ttl":9}`).want(t, "params.persistence", "ip")
	if p, rev, _ := a.state(); p != published+3 || rev != revision+3 {
		t.Errorf("three creations were %d publications and %d revisions", p-published, rev-revision)
	}
	tls, dns := a.config().Farm("tls"), a.config().Farm("dns")
	if !tls.HTTPS() || !tls.HTTP.TLS.DisableHTTP2 || tls.HTTP.ConnectTimeout != 5 || tls.HTTP.RequestTimeout != 7 || len(tls.HTTP.Trusted) != 1 || tls.HTTP.Error503 != "later" {
		t.Errorf("the farm is %+v", tls.HTTP)
	}
	if s := tls.Service("web"); s == nil || s.VHost != `shop\.example` || s.Persistence != farm.PersistCookie || s.SessionID != "SID" || s.TTL != 60 {
		t.Errorf("the service is %+v", s)
	}
	if l := dns.L4; l.NAT != farm.NATDirect || l.Algorithm != farm.L4HashSrc || l.Persist != farm.L4PersistSrc || l.TTL != 9 {
		t.Errorf("the farm is %+v", l)
	}
}

// A rejected creation is never in force, and the history does not contain it.
func TestARefusedCreationIsNoChange(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for name, c := range map[string]struct {
		path, body string
		status     int
		says       string
	}{
		"a value":           {"/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":443,"contimeout":"x"}`, 400, "contimeout"},
		"two values":        {"/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":443,"contimeout":9,"resurrectime":8}`, 400, "resurrectime"},
		"a certificate":     {"/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":443,"listener":"https","certificates":["none.pem"]}`, 400, "none.pem"},
		"what needs TLS":    {"/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":443,"strict_host":true}`, 400, "listener https"},
		"of l4xnat farms":   {"/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":443,"nattype":"dsr"}`, 400, "nattype is a field of l4xnat farms"},
		"of http farms":     {"/farms", `{"farmname":"b","profile":"l4xnat","vip":"192.0.2.10","vport":443,"error503":"x"}`, 400, "error503 is a field of http farms"},
		"of renaming":       {"/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":443,"newfarmname":"c"}`, 400, "newfarmname"},
		"a source":          {"/farms", `{"farmname":"b","profile":"l4xnat","vip":"192.0.2.10","vport":443,"source":"192.0.2.11"}`, 400, "source must be an address of this machine"},
		"of a service":      {"/farms/shop/services", `{"id":"api","urlp":"("}`, 400, "urlp"},
		"of no service":     {"/farms/shop/services", `{"id":"api","compression_min":9}`, 400, "compression"},
		"rules in services": {"/farms/shop/services", `{"id":"api","sts_status":true}`, 400, "listener http"},
		"another id":        {"/farms/shop/services", `{"id":"web","urlp":"x"}`, 400, "exists already"},
	} {
		t.Run(name, func(t *testing.T) {
			a.t = t
			published, revision, farms := a.state()
			a.do("POST", c.path, c.body).refused(t, c.status, c.says)
			if p, rev, n := a.state(); p != published || rev != revision || n != farms {
				t.Errorf("published %d times, revision %d after %d, %d farms", p-published, rev, revision, n)
			}
		})
	}
}

// Every field of a change is also accepted at creation.
func TestACreationTakesTheFieldsOfTheChange(t *testing.T) {
	paths := readDoc(t, newAppliance(t)).Paths
	fields := func(path, verb string) []string {
		return slices.Sorted(maps.Keys(paths[path][verb].RequestBody.Content["application/json"].Schema.Properties))
	}
	for create, change := range map[string]string{
		"/farms": "/farms/{farm}", "/farms/{farm}/services": "/farms/{farm}/services/{service}",
		"/farms/{farm}/backends": "/farms/{farm}/backends/{backend}", "/farms/{farm}/services/{service}/backends": "/farms/{farm}/services/{service}/backends/{backend}",
	} {
		taken := fields(create, "post")
		for _, name := range fields(change, "put") {
			if !slices.Contains(taken, name) && name != "newfarmname" {
				t.Errorf("POST %s does not take %s, PUT %s does", create, name, change)
			}
		}
	}
}

func TestTheHelpOfACreationNamesEachFieldOnceTheRequiredFirst(t *testing.T) {
	a := newAppliance(t)
	params, _ := a.do("POST", "/farms", `{}`).at("params").([]any)
	var names []string
	for _, p := range params {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	if first := strings.Join(names[:min(4, len(names))], " "); first != "farmname profile vip vport" {
		t.Errorf("the first are %s", first)
	}
	for _, name := range []string{"contimeout", "listener", "nattype"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) {
		t.Errorf("a name comes twice: %v", names)
	}
}
