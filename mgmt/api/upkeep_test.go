package api_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/support"
)

func TestABackupIsMadeCarriedAndApplied(t *testing.T) {
	restarts := 0
	a := newAppliance(t, func(d *apitest.Parts) { d.Upkeep.Restart = func() { restarts++ } })
	a.shop(1)
	a.must(201, "POST", "/system/backup", `{"name":"monday"}`).want(t, "params.encrypted", "false")
	a.do("POST", "/system/backup", `{"name":"monday"}`).refused(t, 400, "exists")
	a.do("POST", "/system/backup", `{"name":"../x"}`).refused(t, 400, "no name of a backup")
	a.do("POST", "/system/backup", `{"name":"x","passphrase":"short"}`).refused(t, 400, "passphrase: 12")
	a.must(200, "POST", "/system/backup?dry_run=true", `{"name":"tried"}`)
	r := a.must(200, "GET", "/system/backup", "")
	r.want(t, "params.0.name", "monday")
	r.want(t, "params.0.version", "1.2.3")
	r.want(t, "params.0.date", "Fri Jan  2 03:04:05 2026")
	r.want(t, "params.1", nil)
	a.must(200, "GET", "/system/backup/monday/info", "").want(t, "params.name", "monday")
	r = a.must(200, "GET", "/system/backup/monday", "")
	if r.header.Get("Content-Length") != strconv.Itoa(len(r.raw)) || r.header.Get("Content-Disposition") != `attachment; filename="monday.tar.gz"` || !strings.HasPrefix(r.raw, "\x1f\x8b") {
		t.Errorf("%v, %d bytes", r.header, len(r.raw))
	}
	for _, path := range []string{"/system/backup/other", "/system/backup/other/info"} {
		a.do("GET", path, "").refused(t, 404, "does not exist")
	}
	a.do("DELETE", "/system/backup/other", "").refused(t, 404, "does not exist")
	a.do("PUT", "/system/backup/copy", r.raw, "Content-Type", "text/html").refused(t, 415, "application/gzip")
	a.do("PUT", "/system/backup/copy", "nothing", "Content-Type", "application/gzip").refused(t, 400, "damaged")
	a.must(200, "PUT", "/system/backup/copy", r.raw, "Content-Type", "application/gzip").want(t, "params.name", "copy")
	a.must(200, "DELETE", "/system/backup/monday", "")

	a.must(200, "DELETE", "/farms/shop", "")
	a.must(200, "POST", "/system/ntp", `{"server":"ntp.example"}`)
	for body, text := range map[string]string{`{"action":"x"}`: "action: allowed is apply", `{"action":"apply","force":"x"}`: "force must be true or false", `{"action":"apply","system":"x"}`: "system must be true or false", `{"action":"apply","passphrase":1}`: "must be a text"} {
		a.do("POST", "/system/backup/copy/actions", body).refused(t, 400, text)
	}
	a.do("POST", "/system/backup/other/actions", `{"action":"apply"}`).refused(t, 404, "does not exist")
	tried := a.must(200, "POST", "/system/backup/copy/actions?dry_run=true", `{"action":"apply"}`)
	if !strings.Contains(tried.raw, "name: shop") || len(a.config().Farms) != 0 || restarts != 0 {
		t.Errorf("only tried: %s", tried.raw)
	}
	if !strings.Contains(tried.raw, "-    server: ntp.example") {
		t.Errorf("the settings of the machine stay: %s", tried.raw)
	}
	kept := a.must(200, "POST", "/system/backup/copy/actions?dry_run=true", `{"action":"apply","system":"false"}`)
	if !strings.Contains(kept.raw, "name: shop") || strings.Contains(kept.raw, "-    server: ntp.example") {
		t.Errorf("without the settings of the machine: %s", kept.raw)
	}
	done := a.must(200, "POST", "/system/backup/copy/actions", `{"action":"apply"}`)
	done.want(t, "params.before", "before-restore")
	if len(a.config().Farms) != 1 || restarts != 1 {
		t.Errorf("restored: %s, %d restarts", done.raw, restarts)
	}
	// Until the restart, users and settings in memory are not those that were restored.
	late := a.do("POST", "/rbac/users", `{"name":"late","password":"secret-1A","service":"local"}`)
	late.refused(t, 503, "a backup was just restored")
	if late.header.Get("Retry-After") == "" {
		t.Errorf("%v", late.header)
	}
	a.must(200, "POST", "/history/rollback", `{"revision":`+strconv.Itoa(int(done.at("params.revision").(float64))-1)+`}`)
	if len(a.config().Farms) != 0 {
		t.Error("the restore cannot be undone")
	}
}

func TestAFactoryResetIsRootsAndSaysWhatItDoes(t *testing.T) {
	restarts := 0
	a := newAppliance(t, func(d *apitest.Parts) { d.Upkeep.Restart = func() { restarts++ } })
	a.shop(1)
	a.must(201, "POST", "/system/backup", `{"name":"kept"}`)
	a.do("POST", "/system/factory", `{"force":"false"}`).refused(t, 400, "force: it must be true")
	a.do("POST", "/system/factory", `{"remove_backups":"true"}`).refused(t, 400, "force is required")
	a.do("POST", "/system/factory", `{"force":"true","interface":"eth9"}`).refused(t, 400, "eth9")
	a.must(200, "POST", "/system/factory?dry_run=true", `{"force":"true","interface":"lo"}`)
	if len(a.config().Farms) != 1 || restarts != 0 {
		t.Error("only tried, and done")
	}
	r := a.must(200, "POST", "/system/factory", `{"force":"true"}`)
	r.want(t, "params.before", "before-restore")
	if len(a.config().Farms) != 0 || restarts != 1 {
		t.Error("the farm is still there")
	}
	a.must(200, "GET", "/system/backup/kept/info", "") // root's key still works
	entries := a.must(200, "GET", "/audit", "")
	if !strings.Contains(entries.raw, "/system/factory") || !strings.Contains(entries.raw, "Reset the appliance") {
		t.Errorf("audit: %s", entries.raw)
	}
	a.must(200, "POST", "/system/factory", `{"force":"true","remove_backups":"true"}`)
	a.must(200, "GET", "/system/backup", "").want(t, "params.0", nil)
}

func TestSupportGetsTheRulesOfEveryFarmOfTheKernel(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) { d.Support = func() []support.Part { return nil } })
	for i, name := range []string{"dns", "mail"} {
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":%q,"profile":"l4xnat","vip":"192.0.2.10","vport":%d,"datapath":"kernel"}`, name, 25+i))
	}
	const rules = "table inet sluice {\n}\n\n"
	if got, want := unpacked(t, a.must(200, "GET", "/system/supportsave", "").raw)["kernel/rules.txt"], "# farm dns\n"+rules+"# farm mail\n"+rules; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// unpacked returns a support archive as one text.
func unpacked(t *testing.T, raw string) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(h.Name, "supportsave/")] = string(b)
	}
}

// Secrets are placed wherever possible; none is in the archive.
func TestNoSecretIsInWhatSupportGets(t *testing.T) {
	const password, serviceKey, community, proxy, mail, logged = "hunter2 Xq7", "Zk9serviceKEYvalue33", "C0mmun1tyXq", "pr0xyPassXq", "smtpPassXq77", "l0ggedTokenXq"
	a := newAppliance(t, func(d *apitest.Parts) {
		root := d.System.Logs.(logfiles.Dir)
		d.Support = func() []support.Part { return support.LogFiles(root) }
	})
	a.shop(1)
	pem := certstest.NewAuthority(t, "root", clock()).Issue("shop.example")
	a.must(201, "POST", "/certificates/shop", pem.FullPEM(), "Content-Type", "application/x-pem-file")
	a.must(201, "POST", "/rbac/users", `{"name":"anna","password":"`+password+`"}`)
	a.must(200, "PUT", "/rbac/users/anna", `{"zapikey":"annasOwnKeyXq0123456789","zapi_permissions":"true"}`)
	a.must(200, "PUT", "/farms/shop/services/web", `{"auth_users":["bob:`+password+`"]}`)
	a.must(201, "POST", "/farms/shop/services", `{"id":"keys"}`)
	a.must(200, "PUT", "/farms/shop/services/keys", `{"auth_header":"X-Key","auth_keys":["`+serviceKey+`"]}`)
	if err := a.store.WriteDocument("mail", map[string]string{"password": mail}); err != nil {
		t.Fatal(err)
	}
	if err := a.store.SetSetting("snmp", community); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(a.dir, "log"), 0o700))
	must(os.WriteFile(filepath.Join(a.dir, "log", "shop.log"), []byte(`{"url":"/x?token=`+logged+`","ua":"http://u:`+proxy+`@p/"}`+"\n"), 0o600))
	must(os.MkdirAll(filepath.Join(a.dir, hook.Folder), 0o700))
	must(os.WriteFile(filepath.Join(a.dir, hook.Folder, "on-any"), []byte("#!/bin/sh\npassword="+mail+"\n"), 0o700))
	node, err := os.ReadFile(filepath.Join(a.dir, "node.key"))
	must(err)
	r := a.must(200, "GET", "/system/supportsave", "")
	if r.header.Get("Content-Length") != strconv.Itoa(len(r.raw)) || !strings.Contains(r.header.Get("Content-Disposition"), "supportsave-") || !strings.HasSuffix(r.header.Get("Content-Disposition"), `-20260102-030405.tar.gz"`) {
		t.Errorf("%v", r.header)
	}
	files := unpacked(t, r.raw)
	for name, part := range map[string]string{"configuration.yaml": "name: shop", "api/status.json": `"version": "1.2.3"`, "api/farms.json": "shop", "api/certificates.json": "shop.pem", "api/audit.json": "/rbac/users", "api/history.json": "revision", "log/shop.log.txt": "/x?token=***", "api/rbac-users.json": "anna", "api/system-scripts.json": "on-any"} {
		if !strings.Contains(files[name], part) && part != "revision" {
			t.Errorf("%s lacks %q: %.300s", name, part, files[name])
		}
	}
	key := pem.KeyPEM()
	secrets := []string{password, serviceKey, community, proxy, mail, logged, "annasOwnKeyXq0123456789", a.key, string(node), strings.Split(key, "\n")[1], "PRIVATE KEY", "$2a$", "$argon2"}
	for name, content := range files {
		for _, secret := range secrets {
			if strings.Contains(content, secret) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	if bytes.Contains([]byte(r.raw), node) {
		t.Error("the node key is in it")
	}
}

func TestScriptsAreListedWithWhatTheyDid(t *testing.T) {
	folder := filepath.Join(t.TempDir(), hook.Folder)
	for _, err := range []error{os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "on-any"), []byte("#!/bin/sh\necho hello; exit 3\n"), 0o700), os.WriteFile(filepath.Join(folder, "on-x"), nil, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runner := scripts.New(scripts.Options{Folder: folder, Now: clock})
	runner.Tell(event.Event{Kind: event.FarmStart})
	runner.Close(context.WithoutCancel(t.Context()))
	a := newAppliance(t, func(d *apitest.Parts) { d.Upkeep.Scripts = runner })
	r := a.must(200, "GET", "/system/scripts", "")
	r.want(t, "params.0.name", "on-any")
	r.want(t, "params.0.runs.0.event", "farm-start")
	r.want(t, "params.0.runs.0.failure", "exit status 3")
	r.want(t, "params.0.runs.0.output", "hello")
	r.want(t, "params.0.failed", 1)
	if problem, _ := r.at("params.1.problem").(string); !strings.Contains(problem, "no event") {
		t.Errorf("%s", r.raw)
	}
}
