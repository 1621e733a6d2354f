package api_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
)

// These tests imitate clients of the family: they decode responses into the clients' types,
// and send fields in the order of the family's forms.

// The family's Go client decodes the port in lists as a string, but that of a single http
// farm as a number.
func TestTheGoClientOfTheFamilyReadsPorts(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	type farmInfo struct{ FarmName, Profile, Status, VIP, VPort string }
	for path, list := range map[string]string{"/farms": "params", "/farms/modules/lslb": "params", "/stats/farms": "farms", "/stats/farms/modules/lslb": "farms"} {
		var body map[string]json.RawMessage
		var farms []farmInfo
		if err := json.Unmarshal([]byte(a.must(200, "GET", path, "").raw), &body); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body[list], &farms); err != nil || len(farms) != 2 || farms[0].VPort != "80" || farms[1].VPort != "53,5353" {
			t.Errorf("%s: %v, %+v", path, err, farms)
		}
	}
	var one struct{ Params struct{ VPort int } }
	if err := json.Unmarshal([]byte(a.must(200, "GET", "/farms/shop", "").raw), &one); err != nil || one.Params.VPort != 80 {
		t.Errorf("%v, %+v", err, one)
	}
}

// The family's monitoring plugins raise an alarm for every backend that is neither up nor
// in maintenance.
func TestTheMonitoringPluginsSeeNoAlarmWhereNobodyAskedYet(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.dns(1)
	a.must(200, "PUT", web+"/backends/1/maintenance", `{"action":"maintenance"}`)
	calm := func(path string) (list []string) {
		backends, _ := a.must(200, "GET", path, "").at("backends").([]any)
		for _, b := range backends {
			status, _ := b.(map[string]any)["status"].(string)
			list = append(list, status)
		}
		return list
	}
	for path, want := range map[string]string{"/stats/farms/shop": "up maintenance", "/stats/farms/shop/backends": "up maintenance",
		"/stats/farms/shop/services/web/backends": "up maintenance", "/stats/farms/dns/backends": "up"} {
		if got := strings.Join(calm(path), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	a.engine.health[a.config().Farm("shop").HTTP.Services[0].Backends[0].ID] = farm.StatusDown
	if got := calm("/stats/farms/shop"); !slices.Contains(got, "down") {
		t.Errorf("a backend that is down is %v", got)
	}
}

// The family's command line compares the message of a 401.
func TestTheCommandLineOfTheFamilyKnowsWhenAKeyIsNeeded(t *testing.T) {
	a := newAppliance(t)
	for _, key := range []string{"", "wrong"} {
		r := a.send("GET", api.FamilyBase+"/farms", "", "ZAPI-KEY", key)
		r.refused(t, 401)
		r.want(t, "message", "Authorization required")
		if details, _ := r.body["details"].(string); !strings.Contains(details, "ZAPI_KEY") {
			t.Errorf("the details are %q", details)
		}
	}
	if r := a.do("GET", "/farms/none", ""); r.body["details"] != nil {
		t.Errorf("a rejection without details has some: %s", r.raw)
	}
}

// The family's forms send one field at a time, in display order.
func TestAFormSetsPersistenceFieldByField(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	step := func(body string, warns ...string) {
		t.Helper()
		warning, _ := a.must(200, "PUT", web, body).body["warning"].(string)
		for _, text := range warns {
			if !strings.Contains(warning, text) {
				t.Errorf("%s: the warning %q does not contain %q", body, warning, text)
			}
		}
		if len(warns) == 0 && warning != "" {
			t.Errorf("%s: warned of %q", body, warning)
		}
	}
	step(`{"persistence":"COOKIE"}`, "persistence COOKIE has no effect", "sessionid")
	a.must(200, "GET", web, "").want(t, "services.persistence", "COOKIE")
	step(`{"vhost":"x"}`, "persistence COOKIE has no effect")
	step(`{"sessionid":"SID"}`)
	step(`{"ttl":"60"}`)
	step(`{"persistence":""}`)
	step(`{"ttl":"90"}`, "ttl has no effect", "persistence")
	a.must(200, "GET", web, "").want(t, "services.ttl", 90)
	step(`{"sessionid":"SID"}`, "sessionid has no effect", "ttl has no effect")
	step(`{"persistence":"IP"}`)
	r := a.must(200, "GET", web, "")
	r.want(t, "services.ttl", 90)
	r.want(t, "services.sessionid", "") // persistence by address has no session ID
	step(`{"sessionid":"SID"}`, "sessionid has no effect", "persistence is IP")
	step(`{"persistence":"HEADER"}`)
	a.must(200, "GET", web, "").want(t, "services.sessionid", "SID")
	step(`{"cookieinsert":"true"}`, "cookieinsert has no effect", "persistence is HEADER")
	step(`{"cookiename":"LB"}`, "cookieinsert has no effect")
	step(`{"persistence":""}`)
	r = a.must(200, "GET", web, "")
	r.want(t, "services.cookieinsert", "true")
	r.want(t, "services.cookiename", "LB")
	a.must(201, "POST", "/farms/shop/services", `{"id":"new","persistence":"URL"}`).want(t, "warning",
		"persistence URL has no effect yet: sessionid names the parameter; set sessionid")
}

// The family's forms change one TLS switch at a time.
func TestAFormSwitchesVersionsOfTLSOneByOne(t *testing.T) {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"tls","profile":"http","vip":"192.0.2.10","vport":443,"listener":"https"}`)
	for _, c := range []struct{ body, now, warns string }{ // now: TLS 1.0, 1.1, 1.2 and 1.3
		{`{"disable_tlsv1":"false"}`, "false false false false", "disable_tlsv1_1 is false now too"},
		{`{"disable_tlsv1_2":"true"}`, "true true true false", "disable_tlsv1 and disable_tlsv1_1 are true now too"},
		{`{"disable_tlsv1_1":"false"}`, "true false false false", "disable_tlsv1_2 is false now too"},
		{`{"disable_tlsv1":"false"}`, "false false false false", ""},
		{`{"disable_tlsv1_1":"true"}`, "true true false false", "disable_tlsv1 is true now too"},
		{`{"disable_tlsv1_3":"true"}`, "true true false true", ""},
		{`{"disable_tlsv1":"false","disable_tlsv1_3":"false"}`, "false false false false", "disable_tlsv1_1 is false now too"},
		{`{"disable_tlsv1":"true","disable_tlsv1_1":"true","disable_tlsv1_2":"true"}`, "true true true false", ""},
		{`{"disable_tlsv1":"true"}`, "true true true false", ""},
	} {
		r := a.must(200, "PUT", "/farms/tls", c.body)
		if warning, _ := r.body["warning"].(string); !strings.Contains(warning, c.warns) || c.warns == "" && warning != "" {
			t.Errorf("%s: warned of %q, want %q", c.body, warning, c.warns)
		}
		r = a.must(200, "GET", "/farms/tls", "")
		var now []string
		for _, name := range []string{"disable_tlsv1", "disable_tlsv1_1", "disable_tlsv1_2", "disable_tlsv1_3"} {
			now = append(now, r.at("params."+name).(string))
		}
		if got := strings.Join(now, " "); got != c.now {
			t.Errorf("%s: the switches are %s, want %s", c.body, got, c.now)
		}
	}
	a.do("PUT", "/farms/tls", `{"disable_tlsv1_3":"true"}`).refused(t, 400, "TLS 1.2 or TLS 1.3 has to stay enabled")
	a.do("PUT", "/farms/tls", `{"disable_tlsv1":"false","disable_tlsv1_1":"true"}`).refused(t, 400, "disable_tlsv1")
	a.must(201, "POST", "/farms", `{"farmname":"old","profile":"http","vip":"192.0.2.10","vport":444,"listener":"https","disable_tlsv1":"false"}`).
		want(t, "warning", "disable_tlsv1_1 is false now too: the versions that are left must have no gap")
}

// Clients of the family treat the presence of the field redirect as a configured redirect.
func TestARedirectIsShownOnlyWhenThereIsOne(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	shown := func() bool {
		_, one := a.must(200, "GET", web, "").at("services").(map[string]any)["redirect"]
		_, all := a.must(200, "GET", "/farms/shop", "").at("services.0").(map[string]any)["redirect"]
		return one || all
	}
	if shown() {
		t.Error("a service that never had a redirect shows one")
	}
	a.must(200, "PUT", web, `{"redirect":"https://example.com"}`)
	if !shown() {
		t.Error("the redirect is not shown")
	}
	a.must(200, "PUT", web, `{"redirect":""}`)
	if shown() {
		t.Error("a redirect that was cleared is shown")
	}
}

func TestACertificateThatRenewsIsNotDeletedAsAFile(t *testing.T) {
	a, o := withOrders(t)
	a.certificate("www.sluice.test.pem", "www.sluice.test")
	o.renewal.Auto = true
	for _, name := range []string{"www.sluice.test.pem", "www.sluice.test"} {
		a.do("DELETE", "/certificates/"+name, "").refused(t, 400, "renewed", "sluice acme delete www.sluice.test")
	}
	a.must(200, "GET", "/certificates/www.sluice.test.pem/info", "")
	o.renewal.Auto = false
	a.must(200, "DELETE", "/certificates/www.sluice.test.pem", "")
}

// The interface plugin looks in the lists of both kinds of interface.
func TestTheMonitoringPluginsFindInterfaces(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "PUT", "/aliases/interfaces/eth0", `{"alias":"wan"}`)
	for _, path := range []string{api.FamilyBase, "/zapi/v3/zapi.cgi"} {
		r := a.send("GET", path+"/stats/system/network/interfaces", "", "ZAPI_KEY", a.key)
		for at, want := range map[string]any{
			"params.nic.0.interface": "eth0", "params.nic.0.status": "up", "params.nic.0.configured": "up", "params.nic.0.actual": "up", "params.nic.0.in": 1024, "params.nic.0.out": 1,
			"params.nic.0.ip": "192.0.2.10", "params.nic.0.mac": "02:00:00:00:00:01", "params.nic.0.alias": "wan", "params.nic.0.vlan.0": "eth0.10", "params.nic.0.vlan.1": "eth0.20",
			"params.bond.0.interface": "bond0", "params.bond.0.status": "down", "params.bond.0.configured": "up", "params.bond.0.actual": "down", "params.bond.0.ip": "2001:db8::2", "params.bond.0.slaves.0": "eth1",
		} {
			r.want(t, at, want)
		}
		if nic, bond := r.at("params.nic").([]any), r.at("params.bond").([]any); len(nic) != 1 || len(bond) != 1 {
			t.Errorf("%d nic, %d bond", len(nic), len(bond))
		}
	}
}

// The family's command line sends archives in base64, but declares them as gzip.
func TestTheCommandLineOfTheFamilyUploadsABackup(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", "/system/backup", `{"name":"before"}`)
	archive := a.must(200, "GET", "/system/backup/before", "").raw
	var lines strings.Builder
	for text := base64.StdEncoding.EncodeToString([]byte(archive)); text != ""; {
		n := min(76, len(text))
		lines.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	r := a.send("PUT", api.FamilyBase+"/system/backup/copied", lines.String(), "ZAPI-KEY", a.key, "Content-Type", "application/gzip")
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	if got := a.must(200, "GET", "/system/backup/copied", "").raw; got != archive {
		t.Errorf("kept are %d bytes of %d", len(got), len(archive))
	}
	r = a.send("PUT", api.FamilyBase+"/system/backup/cut", lines.String()[:200], "ZAPI-KEY", a.key, "Content-Type", "application/gzip")
	r.refused(t, 400)
}
