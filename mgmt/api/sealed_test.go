package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// planted is a credential that is put into every rule.
const planted = "s3cr3t"

// plant puts a credential into every kind of rule of a farm, a service and a check.
func (a *appliance) plant() {
	a.t.Helper()
	for _, of := range []struct {
		path                                              string
		add, answer, remove, removed, replace, replacedBy string
	}{
		{"/farms/shop", "addheader", "addresponseheader", "headremove", "removeresponseheader", "replacerequestheader", "replaceresponseheader"},
		{web, "addrequestheader", "addresponseheader", "removerequestheader", "removeresponseheader", "replacerequestheader", "replaceresponseheader"},
	} {
		for _, header := range []string{"Authorization: Basic ", "Cookie: id=", "X-Api-Key: ", "X_Token: ", "X-Shared-Secret: ", "Db-Password: ", "X-Odd: Bearer ", "apikey:"} {
			a.must(201, "POST", of.path+"/"+of.add, `{"header":"`+header+planted+`"}`)
		}
		a.must(201, "POST", of.path+"/"+of.answer, `{"header":"Set-Cookie: id=`+planted+`; Path=/"}`)
		a.must(201, "POST", of.path+"/"+of.remove, `{"pattern":"^X-Token: `+planted+`"}`)
		a.must(201, "POST", of.path+"/"+of.removed, `{"pattern":"^Set-Cookie: id=`+planted+`"}`)
		for _, kind := range []string{of.replace, of.replacedBy} {
			a.must(201, "POST", of.path+"/"+kind, `{"header":"^(Set-)?Cookie$","match":"`+planted+`","replace":"`+planted+`-2"}`)
			a.must(201, "POST", of.path+"/"+kind, `{"header":"^Authorization$","match":"^.*$","replace":"Bearer `+planted+`"}`)
		}
	}
	a.must(201, "POST", web+"/rewriteurl", `{"pattern":"^/a","replace":"/b?token=`+planted+`"}`)
	a.must(200, "PUT", web, `{"headrequire":["^X-Token: `+planted+`"],"headdeny":["^Authorization: Basic `+planted+`"]}`)
	a.must(200, "PUT", fg+"/hidden-alive", `{"command":"check_http -I HOST -p PORT -k 'X-Api-Key: `+planted+`'","force":"true"}`)
}

// The credentials in rules are hidden everywhere from a user who may only read.
func TestCredentialsOfRulesAreSealedOnEveryWayOut(t *testing.T) {
	a := divided(t)
	a.plant()
	a.must(200, "PUT", "/farms/shop", `{"resurrectime":30}`) // a revision next to them
	a.must(201, "POST", "/system/backup", `{"name":"all"}`)
	for _, name := range []string{"dns", "theirs"} {
		a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"`+name+`"}`)
	}
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":"true"}`)
	may := map[rbac.Permission]bool{}
	for _, p := range rbac.Permissions() {
		may[p] = !slices.Contains([]rbac.Permission{rbac.FarmModify, rbac.FarmCreate, rbac.FarmguardianModify, rbac.ConfigApply, rbac.ProgramSet}, p)
	}
	if _, err := a.users.ChangeRole("ops", may); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("{farm}", "shop", "{service}", "web", "{backend}", "0", "{check}", "hidden-alive", "{backup}", "all", "{certificate}", "served.pem", "{group}", "team", "{role}", "ops", "{user}", "ann", "{rule}", "0", "{lines}", "100", "{log}", "sluice-audit.log")
	_, last := a.applier.Current()
	asked, answered, found := 0, 0, 0
	look := func(method, path, body string) {
		t.Helper()
		r := a.as(method, path, body)
		if asked++; r.status < 300 {
			answered++
		}
		if shows(r.raw) {
			t.Errorf("%s %s %s:\n%.600s", method, path, body, excerpt(r.raw))
		}
		if method == "GET" && shows(a.do(method, path, "").raw) {
			found++
		}
	}
	for _, path := range slices.Sorted(maps.Keys(a.must(200, "GET", "/openapi.json", "").at("paths").(map[string]any))) {
		if strings.Contains(path, "/stream") || strings.Contains(path, "/trace") || strings.Contains(path, "/questions") || strings.Contains(path, "{start}") {
			continue
		}
		if strings.Contains(path, "{revision}") {
			for n := uint64(1); n <= last.Number; n++ {
				look("GET", strings.Replace(path, "{revision}", fmt.Sprint(n), 1), "")
			}
			look("GET", strings.Replace(path, "{revision}", fmt.Sprint(last.Number), 1)+"?from=1", "")
			continue
		}
		look("GET", names.Replace(path), "")
	}
	// Dry runs show the diff.
	look("POST", "/history/rollback?dry_run=true", fmt.Sprintf(`{"revision":"%d"}`, 4))
	look("DELETE", "/farms/shop?dry_run=true", "")
	look("DELETE", web+"?dry_run=true", "")
	look("PUT", "/farms/shop/actions?dry_run=true", `{"action":"stop"}`)
	look("POST", "/system/backup/all/actions?dry_run=true", `{"action":"apply"}`)
	look("POST", "/transactions?dry_run=true", transaction("DELETE", "/farms/shop", "{}"))
	look("POST", "/farms/shop/explain", `{"path":"/a"}`)
	look("POST", "/farms/shop/explain", `{"path":"/a","headers":["X-Token: `+"other"+`"]}`)
	look("POST", "/farms/shop/services", `{}`)
	look("POST", web+"/addrequestheader", `{"header":"Authorization: Basic `+"other"+`"}`)
	for _, text := range []string{"Authorization: Basic ", "X-Token: "} { // duplicates are rejected without their values
		look("PUT", web+"/addrequestheader/0", `{"header":"`+text+`other"}`)
	}
	// An archive that the caller can decrypt is refused.
	a.must(201, "POST", "/system/backup", `{"name":"closed","passphrase":"correct horse battery"}`)
	for _, name := range []string{"all", "closed"} {
		a.as("GET", "/system/backup/"+name, "").refused(t, 403, "credentials", "config.apply")
	}
	if _, err := a.users.ChangeRole("ops", map[rbac.Permission]bool{rbac.BackupCreate: false}); err != nil {
		t.Fatal(err)
	}
	a.as("GET", "/system/backup/all", "").refused(t, 403, "credentials")
	if r := a.as("GET", "/system/backup/closed", ""); r.status != 200 || shows(r.raw) {
		t.Errorf("an archive that the caller cannot open: %d", r.status)
	}
	if _, err := a.users.ChangeRole("ops", map[rbac.Permission]bool{rbac.ConfigApply: true}); err != nil {
		t.Fatal(err)
	}
	if r := a.as("GET", "/system/backup/all", ""); r.status != 200 || !shows(r.raw) {
		t.Errorf("archive for a user who may apply documents: %d", r.status)
	}
	if asked < 150 || answered < 100 || found < 10 {
		t.Errorf("%d ways were tried, %d answered, root finds it on %d", asked, answered, found)
	}
}

// shows reports whether a response contains the credential, even inside an archive.
func shows(raw string) bool {
	if strings.Contains(raw, planted) {
		return true
	}
	if z, err := gzip.NewReader(strings.NewReader(raw)); err == nil {
		plain, _ := io.ReadAll(z)
		return bytes.Contains(plain, []byte(planted))
	}
	return false
}

// excerpt returns the surroundings of the credential.
func excerpt(raw string) string {
	at := strings.Index(raw, planted)
	if at < 0 {
		return "in an archive"
	}
	text, _ := json.Marshal(raw[max(0, at-300):min(len(raw), at+100)])
	return string(text)
}

// A permission for operations on all farms reveals nothing to callers who see only some,
// because they may not use it.
func TestCredentialsAreSealedForWhoMayNotUseThePermission(t *testing.T) {
	a := divided(t)
	a.must(201, "POST", "/farms/shop/addheader", `{"header":"Authorization: Basic `+planted+`"}`)
	a.must(201, "POST", hooks, `{"name":"ops","url":"https://hooks.example.com/in?token=`+planted+`","secret":"hunter2-hunter2-hunter2"}`)
	may := map[rbac.Permission]bool{rbac.FarmModify: false, rbac.FarmCreate: false, rbac.ConfigApply: true, rbac.NotificationShow: true, rbac.NotificationModify: true}
	if _, err := a.users.ChangeRole("ops", may); err != nil {
		t.Fatal(err)
	}
	paths := []string{"/farms/shop", "/farms/shop/addheader", hooks, hooks + "/ops"}
	for _, path := range paths {
		if r := a.as("GET", path, ""); r.status != 200 || shows(r.raw) {
			t.Errorf("%s: %d %s", path, r.status, excerpt(r.raw))
		}
	}
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":"true"}`)
	for _, path := range paths {
		if r := a.as("GET", path, ""); !shows(r.raw) {
			t.Errorf("%s hides the secret from a user who may change it: %s", path, r.raw)
		}
	}
}

// Changes that are made show no more than their dry run.
func TestCredentialsAreSealedInTheDifferenceOfAChange(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", "/farms/shop", `{"resurrectime":30}`)
	_, plain := a.applier.Current()
	a.plant()
	_, with := a.applier.Current()
	a.must(201, "POST", "/system/backup", `{"name":"all"}`)
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":"true"}`)
	may := map[rbac.Permission]bool{}
	for _, p := range rbac.Permissions() {
		may[p] = p == rbac.HistoryRollback || p == rbac.BackupApply
	}
	if _, err := a.users.ChangeRole("ops", may); err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct{ path, body string }{
		{"/history/rollback", fmt.Sprintf(`{"revision":"%d"}`, plain.Number)}, {"/history/rollback", fmt.Sprintf(`{"revision":"%d"}`, with.Number)},
		{"/history/rollback", fmt.Sprintf(`{"revision":"%d"}`, plain.Number)}, {"/system/backup/all/actions", `{"action":"apply"}`},
	} {
		r := a.as("POST", call.path, call.body)
		if diff, _ := r.at("params.diff").(string); r.status != 200 || shows(r.raw) || !strings.Contains(diff, "***") {
			t.Errorf("%s %s: %d %s", call.path, call.body, r.status, excerpt(r.raw))
		}
	}
}
