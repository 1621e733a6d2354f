package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The GUI is used by clicks and keys in Chromium, at an appliance with two backends and
// two people: the tests that say how lie in web/e2e. GUI_SHOTS names a folder for
// pictures of every page.
func TestTheGUIDoesWhatOperatorsDo(t *testing.T) {
	t.Parallel()
	needs(t, "chromium")
	needs(t, "node")
	const web = "../../web"
	if _, err := os.Stat(web + "/node_modules"); err != nil {
		t.Fatalf("the GUI was not built: run make gui (%v)", err)
	}
	who := asOne()
	a := start(t, who, dataDir(t, who))
	farm := a.farm("shop", backend(t, "blue"))
	a.must("backend", "set", "shop", "all", "0", "alias=blue")
	a.must("backend", "create", "shop", "all", backend(t, "green"), "alias=green")
	const script = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>`
	document := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(document, []byte(strings.Replace(a.must("export"), "alias: green", "alias: grass", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	a.must("apply", "-f", document, "--comment", script)
	people := map[string]string{"ann": "secret-of-ann-1", "bob": "secret-of-bob-1"}
	for name, password := range people {
		create := a.command("--data", a.data, "user", "create", name)
		create.Stdin = strings.NewReader(password + "\n")
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		a.must("user", "set", name, "webgui_permissions=true")
		a.must("group", "create", name)
		a.must("group", "role", name, map[string]string{"ann": "administration", "bob": "monitoring"}[name])
		a.must("group", "add", name, name)
		a.must("group", "add-farm", name, "shop")
	}
	people["script"] = script
	known, err := json.Marshal(people)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-concurrency=1", "e2e/")
	cmd.Dir = web
	cmd.Env = append(os.Environ(), "GUI_URL=https://"+a.api, "GUI_FARM="+farm, "GUI_PEOPLE="+string(known), "GUI_KEY="+strings.TrimSpace(a.must("key", "create", "-q")))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Log(fmt.Sprint(strings.Count(string(out), "\n# Subtest"), " tests"))
	}
}
