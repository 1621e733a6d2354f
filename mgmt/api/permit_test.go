package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/apitest"
)

// divided returns an appliance whose group team, with the user ann, sees the farm shop but
// not the farm dns. The check hidden-alive is used by dns, and the certificate served by the
// farm theirs.
func divided(t *testing.T, change ...func(*apitest.Parts)) *appliance {
	a := newAppliance(t, change...)
	a.shop(1)
	a.dns(1)
	a.certificate("served", "shop.example")
	a.certificate("ours", "ours.example")
	a.must(201, "POST", "/farms", `{"farmname":"theirs","profile":"http","vip":"192.0.2.10","vport":8443}`)
	a.must(200, "PUT", "/farms/theirs", `{"listener":"https","certificates":["served.pem"]}`)
	a.must(200, "POST", fg, `{"name":"hidden-alive","command":"check_http -I HOST -p PORT -a user:s3cr3t"}`)
	a.must(200, "POST", "/farms/dns/fg", `{"name":"hidden-alive"}`)
	a.people()
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"modify":"true","create":"true","action":"true"},"farmguardian":{"menu":"true","modify":"true"},"config":{"apply":"true","show":"true"},"history":{"rollback":"true","show":"true"}}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	return a
}

// transaction returns the body of a transaction with one write.
func transaction(method, path, body string) string {
	return fmt.Sprintf(`{"writes":[{"method":%q,"path":%q,"body":%s}]}`, method, path, body)
}

func TestAHealthCheckOfFarmsThatAreNotSeenIsNotUsed(t *testing.T) {
	a := divided(t, watched(&watchman{}))
	for _, c := range [][3]string{
		{"GET", fg + "/hidden-alive", ""}, {"PUT", fg + "/hidden-alive", `{"interval":3}`}, {"DELETE", fg + "/hidden-alive", ""},
		{"POST", fg + "/hidden-alive/run", `{"host":"192.0.2.66","port":80}`}, {"POST", fg, `{"name":"mine","copy_from":"hidden-alive"}`},
		{"POST", web + "/fg", `{"name":"hidden-alive"}`}, {"POST", "/transactions", transaction("POST", web+"/fg", `{"name":"hidden-alive"}`)},
	} {
		a.as(c[0], c[1], c[2]).refused(t, 403)
	}
	if r := a.as("GET", fg, ""); strings.Contains(r.raw, "hidden-alive") {
		t.Errorf("it is listed:\n%s", r.raw)
	}
	// A check used by a visible and by a hidden farm.
	a.must(200, "POST", web+"/fg", `{"name":"hidden-alive"}`)
	a.must(201, "POST", "/farms/shop/services", `{"id":"second"}`)
	if r := a.as("GET", fg+"/hidden-alive", ""); r.status != 200 || strings.Contains(r.raw, "sealed-") || strings.Contains(r.raw, "dns") {
		t.Errorf("%d %s", r.status, r.raw)
	}
	for _, c := range [][3]string{
		{"PUT", fg + "/hidden-alive", `{"interval":3}`}, {"POST", fg + "/hidden-alive/run", `{"host":"192.0.2.66","port":80}`},
		{"POST", fg, `{"name":"mine","copy_from":"hidden-alive"}`}, {"POST", "/farms/shop/services/second/fg", `{"name":"hidden-alive"}`},
	} {
		a.as(c[0], c[1], c[2]).refused(t, 403)
	}
	// Its farm may still be changed, but the check cannot spread further.
	if r := a.as("PUT", "/farms/shop", `{"newfarmname":"store"}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	a.as("POST", "/farms", `{"farmname":"copy","copy_from":"store","profile":"http","vip":"192.0.2.10","vport":81}`).refused(t, 403, "the health check hidden-alive")
	// A sealed password is as protected as its check.
	command, _ := a.must(200, "GET", fg+"/hidden-alive", "").at("params.command").(string)
	a.as("POST", fg, `{"name":"mine","command":`+quote(command)+`}`).refused(t, 403, "health check")
	// A caller who sees all farms of a check has full access to it.
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"dns"}`)
	for _, c := range [][3]string{
		{"POST", fg + "/hidden-alive/run", `{"host":"192.0.2.66","port":80}`}, {"POST", fg, `{"name":"mine","copy_from":"hidden-alive"}`},
		{"POST", "/farms/store/services/second/fg", `{"name":"hidden-alive"}`},
	} {
		if r := a.as(c[0], c[1], c[2]); r.status != 200 {
			t.Errorf("%s %s: %d %s", c[0], c[1], r.status, r.raw)
		}
	}
}

// A log file of a farm of another group is not written to.
func TestALogFileOfAnotherGroupIsNotShared(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", "/farms/theirs", `{"log_file":"private"}`)
	for _, name := range []string{"private", "dns"} {
		body := `{"log_file":"` + name + `"}`
		a.as("PUT", "/farms/shop", body).refused(t, 400, "log_file must not be that of a farm of another group")
		a.as("POST", "/transactions", transaction("PUT", "/farms/shop", body)).refused(t, 400, "of a farm of another group")
	}
	a.as("POST", "/farms", `{"farmname":"private","profile":"http","vip":"192.0.2.10","vport":81}`).refused(t, 400, "of a farm of another group")
	a.as("PUT", "/farms/shop", `{"newfarmname":"private"}`).refused(t, 400, "of a farm of another group")
	a.must(200, "PUT", "/farms/shop", `{"log_file":"private"}`)
	for _, body := range []string{`{"logs":"true"}`, `{"log_file":"free"}`, `{"log_file":"shop"}`} {
		if r := a.as("PUT", "/farms/shop", body); r.status != 200 {
			t.Errorf("%s: %s", body, r.raw)
		}
	}
}

func TestNamesAreListedToWhoMaySeeThem(t *testing.T) {
	a := divided(t)
	r := a.as("GET", "/ids", "")
	for _, hidden := range []string{"hidden-alive", "served.pem", "ours.pem", "dns", "theirs"} {
		if strings.Contains(r.raw, `"`+hidden+`"`) {
			t.Errorf("%s is listed:\n%s", hidden, r.raw)
		}
	}
	if _, is := within(r.body, "params", "farmguardians").(map[string]any)["check_tcp"]; !is {
		t.Errorf("a template is not listed:\n%s", r.raw)
	}
	a.must(200, "POST", web+"/fg", `{"name":"hidden-alive"}`)
	a.must(200, "PUT", "/farms/shop", `{"listener":"https","certificates":["ours.pem"]}`)
	r = a.as("GET", "/ids", "")
	for _, seen := range []string{"hidden-alive", "ours.pem"} {
		if !strings.Contains(r.raw, `"`+seen+`"`) {
			t.Errorf("%s is not listed:\n%s", seen, r.raw)
		}
	}
	a.must(200, "PUT", "/rbac/roles/ops", `{"certificate":{"show":"true"}}`)
	if r = a.as("GET", "/ids", ""); !strings.Contains(r.raw, `"served.pem"`) {
		t.Errorf("user who may list certificates does not find them:\n%s", r.raw)
	}
}

func TestACertificateIsAssignedByWhoHasARightToIt(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", "/farms/shop", `{"listener":"https","certificates":["served.pem"]}`)
	had := a.revision()
	a.must(200, "PUT", "/farms/shop", `{"certificates":["ours.pem"]}`)
	if r := a.as("POST", "/farms", `{"farmname":"n","profile":"gslb","vip":"192.0.2.10","vport":5300}`); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	const names = `{"dot":"true","certificates":["served.pem"]}`
	for _, c := range [][3]string{
		{"PUT", "/farms/shop", `{"certificates":["served.pem"]}`}, {"PUT", "/farms/shop", `{"certificates":["ours.pem","served.pem"]}`},
		{"POST", "/farms/shop/certificates", `{"file":"served.pem"}`}, {"POST", "/farms/shop/certificates", `{"file":"nobodys.pem"}`},
		{"POST", "/farms/shop/certificates?dry_run=true", `{"file":"served.pem"}`},
		{"PUT", web, `{"httpsb":"true","httpsb_certificate":"served.pem"}`}, {"PUT", "/farms/n", names},
		{"POST", "/transactions", transaction("PUT", "/farms/shop", `{"certificates":["served.pem"]}`)},
		{"POST", "/transactions", transaction("PUT", "/farms/n", names)},
	} {
		a.as(c[0], c[1], c[2]).refused(t, 403, "you may not use the certificate")
	}
	// Documents and rollbacks need callers who see all farms. The permission for
	// certificates is separate.
	for _, name := range []string{"dns", "theirs"} {
		a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"`+name+`"}`)
	}
	a.must(200, "PUT", "/farms/theirs", `{"certificates":["ours.pem"]}`) // no farm has the other certificate now
	document := a.must(200, "GET", "/config?format=json", "").raw
	changed := strings.Replace(document, "ours.pem", "served.pem", 1)
	for _, path := range []string{"/config", "/config?dry_run=true"} {
		a.as("PUT", path, changed).refused(t, 403, "you may not use the certificate")
	}
	a.as("POST", "/history/rollback", fmt.Sprintf(`{"revision":%d}`, had)).refused(t, 403, "you may not use the certificate")
	// A farm that already has a certificate may be changed, and other farms may use that
	// certificate.
	if r := a.as("POST", "/farms", `{"farmname":"copy","copy_from":"shop","profile":"http","vip":"192.0.2.10","vport":81}`); r.status != 201 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	if r := a.as("PUT", "/farms/copy", `{"certificates":["ours.pem","api.pem"]}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	for _, right := range []string{"show", "delete", "upload"} {
		a.must(200, "PUT", "/rbac/roles/ops", `{"certificate":{"`+right+`":"true"}}`)
		if r := a.as("PUT", "/farms/shop", `{"certificates":["served.pem"]}`); (r.status == 200) != (right == "upload") {
			t.Errorf("with %s: %d %s", right, r.status, r.raw)
		}
	}
}

// An order cannot use farms of other groups, nor their addresses for validation.
func TestAnOrderUsesNoFarmOfAnotherGroup(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", "/rbac/roles/ops", `{"certificate":{"create":"true"}}`)
	a.as("POST", "/certificates/letsencryptz", `{"domains":["www.example"],"farmname":"theirs"}`).refused(t, 404, "the farm theirs does not exist")
	for _, body := range []string{`{"domains":["www.example"],"farmname":"NAME"}`, `{"domains":["www.example"],"farmname":"NAME","challenge":"dns-01"}`,
		`{"domains":["www.example"],"farmname":"NAME","vip":"192.0.2.10"}`, `{"domains":["*.example"],"farmname":"NAME"}`} {
		theirs := a.as("POST", "/certificates/letsencryptz", strings.ReplaceAll(body, "NAME", "theirs"))
		missing := a.as("POST", "/certificates/letsencryptz", strings.ReplaceAll(body, "NAME", "nobody"))
		if strings.ReplaceAll(theirs.raw, "theirs", "nobody") != missing.raw || theirs.status != missing.status {
			t.Errorf("%s: a hidden farm and a missing one have different answers:\n%s\n%s", body, theirs.raw, missing.raw)
		}
	}
	a.as("POST", "/certificates/letsencryptz", `{"domains":["www.example"],"vip":"192.0.2.10"}`).refused(t, 403, "vip: farms use this address")
}
