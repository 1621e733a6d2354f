package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// installed starts the program on the appliance of a site and returns it with an API key.
func installed(t *testing.T, s *housetest.Site, args ...string) (a *appliance, key string) {
	t.Helper()
	root := identity{name: "root"}
	a = startIn(t, root, dataDir(t, root), surroundings{space: s.Appliance}, args...)
	return a, a.key()
}

// file writes a configuration file for --config and returns its path.
func file(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestApplianceIsControlledByFileCommandLineAndREST(t *testing.T) {
	s := housetest.Plan{Backends: 1}.Build(housetest.New(t))
	vip4, _ := s.VIP(200)
	backend := s.Backends[0].Listen("tcp", "10.10.2.11:80")
	go func() {
		_ = http.Serve(backend, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.RemoteAddr)) }))
	}()
	a, key := installed(t, s, "--config", file(t, "farms:\n- {name: shop, profile: http, vip: "+vip4+", vport: 80, services: [{name: all, backends: [{ip: 10.10.2.11, port: 80}]}]}\n"))
	resp, err := s.Client.Client().Get("http://" + vip4 + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	from := make([]byte, 100)
	n, _ := resp.Body.Read(from)
	if !strings.HasPrefix(string(from[:n]), housetest.ApplianceBack4+":") {
		t.Errorf("the probe came from %s", from[:n])
	}
	if code, text := a.rest(key, http.MethodGet, "/farms", nil); code != http.StatusOK || !strings.Contains(text, "shop") {
		t.Errorf("GET /farms: %d %s", code, text)
	}
	if out := a.must("farm", "list"); !strings.Contains(out, "shop") {
		t.Errorf("farm list: %s", out)
	}
	a.kill("netd")
	if a.pid("engine") == 0 {
		t.Error("no engine")
	}
}

// notUnderRace skips a test that mostly waits for the kernel and exercises no code of its
// own: under the race detector it would find nothing new and take minutes.
func notUnderRace(t *testing.T) {
	t.Helper()
	if raceBuild {
		t.Skip("not under the race detector: it is about the kernel; `make test` runs it")
	}
}
