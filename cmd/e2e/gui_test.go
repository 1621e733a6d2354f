package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/oidc/oidctest"
)

const web = "../../web"

// The GUI is operated by clicks and keys in Chromium. The test scripts are in web/e2e. Each
// file has a test here and its own appliance, with a farm of two backends, two users, and an
// identity provider with a third user in the group ops. GUI_SHOTS names a folder for
// screenshots of every page.

func TestTheGUIAccess(t *testing.T)        { inBrowser(t, "access") }
func TestTheGUIFaults(t *testing.T)        { inBrowser(t, "faults") }
func TestTheGUIFarms(t *testing.T)         { inBrowser(t, "farms") }
func TestTheGUILimited(t *testing.T)       { inBrowser(t, "limited") }
func TestTheGUINarrow(t *testing.T)        { inBrowser(t, "narrow") }
func TestTheGUINotifications(t *testing.T) { inBrowser(t, "notifications") }
func TestTheGUIOperator(t *testing.T)      { inBrowser(t, "operator") }
func TestTheGUIPeople(t *testing.T)        { inBrowser(t, "people") }
func TestTheGUIProvider(t *testing.T)      { inBrowser(t, "provider") }
func TestTheGUITasks(t *testing.T)         { inBrowser(t, "tasks") }
func TestTheGUIUpkeep(t *testing.T)        { inBrowser(t, "upkeep") }
func TestTheGUIZones(t *testing.T)         { inBrowser(t, "zones") }

// inBrowser runs a file of web/e2e.
func inBrowser(t *testing.T, name string) {
	t.Helper()
	t.Parallel()
	needs(t, "chromium-headless-shell")
	needs(t, "node")
	if _, err := os.Stat(web + "/node_modules"); err != nil {
		t.Fatalf("the GUI was not built: run make gui (%v)", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-timeout=900000", "e2e/"+name+".test.mjs")
	cmd.Dir = web
	cmd.Env = append(os.Environ(), operated(t)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheGUIHasATestForEachFile(t *testing.T) {
	here, err := os.ReadFile("gui_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(web + "/e2e/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".test.mjs"); !strings.Contains(string(here), `inBrowser(t, "`+name+`")`) {
			t.Errorf("%s runs nowhere", file)
		}
	}
}

// operated starts an appliance and returns the variables for the tests.
func operated(t *testing.T) (variables []string) {
	t.Helper()
	who := asOne()
	a := start(t, who, dataDir(t, who))
	farm := a.farm("shop", backend(t, "blue"))
	a.must("backend", "set", "shop", "all", "0", "alias=blue")
	a.must("backend", "create", "shop", "all", backend(t, "green"), "alias=green")
	folder := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const script = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>`
	a.must("apply", "--yes", "-f", file("shop.yaml", strings.Replace(a.must("export"), "alias: green", "alias: grass", 1)), "--comment", script)
	a.must("role", "create", "least")
	roles := map[string]string{"ann": "administration", "bob": "monitoring", "eve": "least"}
	people := map[string]string{"ann": "secret-of-ann-1", "bob": "secret-of-bob-1", "eve": "secret-of-eve-1"}
	for name, password := range people {
		a.employs(name, password, roles[name])
	}
	people["script"] = script
	known, err := json.Marshal(people)
	if err != nil {
		t.Fatal(err)
	}
	a.must("group", "set", "ann", "all_farms=true")
	provider := oidctest.New(t, time.Now)
	provider.Claims = map[string]any{"preferred_username": "olga", "groups": []string{"ops"}}
	a.must("certificate", "ca", "upload", "provider", file("provider.pem", string(provider.PEM())))
	root := certstest.NewAuthority(t, "clients", time.Now())
	return []string{"GUI_URL=https://" + a.api, "GUI_FARM=" + farm, "GUI_PEOPLE=" + string(known), "GUI_KEY=" + strings.TrimSpace(a.must("key", "create", "-q")),
		"GUI_PEM=" + file("shop.pem", root.Issue("shop.example").FullPEM()), "GUI_OTHER_PEM=" + file("other.pem", root.Issue("other.example").FullPEM()), "GUI_CA=" + file("ca.pem", root.CertPEM()), "GUI_ISSUER=" + provider.Issuer()}
}

// employs creates a user who may sign in, with a role for the farm shop.
func (a *appliance) employs(name, password, role string) {
	a.t.Helper()
	create := a.command("--data", a.data, "user", "create", name)
	create.Stdin = strings.NewReader(password + "\n")
	if out, err := create.CombinedOutput(); err != nil {
		a.t.Fatalf("%v: %s", err, out)
	}
	a.must("user", "set", name, "webgui_permissions=true")
	a.must("group", "create", name)
	a.must("group", "role", name, role)
	a.must("group", "add", name, name)
	a.must("group", "add-farm", name, "shop")
}
