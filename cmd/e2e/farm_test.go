package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFarmCreatedByCommandLineForwardsTraffic(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		wantAnswer(t, url, "one")
		if out := a.must("farm", "list"); !strings.Contains(out, "shop") || !strings.Contains(out, "up") {
			t.Errorf("farm list:\n%s", out)
		}
		a.must("farm", "stop", "shop")
		if _, err := get(url); err == nil {
			t.Error("a stopped farm answers")
		}
		a.must("farm", "start", "shop")
		wantAnswer(t, url, "one")
		a.must("farm", "delete", "shop")
		if _, err := get(url); err == nil {
			t.Error("a deleted farm answers")
		}
	})
}

func TestFarmCreatedByRESTForwardsTraffic(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		if code, _ := a.rest("", http.MethodGet, "/farms", nil); code != http.StatusUnauthorized {
			t.Errorf("without a key: got %d, want %d", code, http.StatusUnauthorized)
		}
		key, port := a.key(), freePort(t)
		host, bport, _ := net.SplitHostPort(backend(t, "two"))
		for _, step := range []struct {
			path string
			body map[string]any
		}{
			{"/farms", map[string]any{"farmname": "web", "profile": "http", "vip": "127.0.0.1", "vport": port}},
			{"/farms/web/services", map[string]any{"id": "all"}},
			{"/farms/web/services/all/backends", map[string]any{"ip": host, "port": bport}},
		} {
			if code, text := a.rest(key, http.MethodPost, step.path, step.body); code != http.StatusCreated {
				t.Fatalf("POST %s: %d %s", step.path, code, text)
			}
		}
		wantAnswer(t, fmt.Sprintf("http://127.0.0.1:%d/", port), "two")
	})
}

func TestConfigurationOutlivesTheInstance(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		a := start(t, who, data)
		url := a.farm("shop", backend(t, "one"))
		if err := a.stop(); err != nil {
			t.Fatalf("stopping: %v", err)
		}
		if _, err := get(url); err == nil {
			t.Error("the farm answers after the end")
		}
		start(t, who, data)
		wantAnswer(t, url, "one")
	})
}

func TestFarmThatCannotListenIsRefusedWithTheReason(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		taken, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		_, port, _ := net.SplitHostPort(taken.Addr().String())
		out, code := a.run("farm", "create", "late", "vip=127.0.0.1", "vport="+port)
		if code != 1 || !strings.Contains(out, "cannot listen on 127.0.0.1:"+port) {
			t.Errorf("exit status %d: %s", code, out)
		}
		if who.credential != nil || who.name == "user" {
			out, code = a.run("farm", "create", "low", "vip=127.0.0.1", "vport=81")
			if code != 1 || !strings.Contains(out, "not permitted") {
				t.Errorf("exit status %d: %s", code, out)
			}
		}
		if out := a.must("farm", "list"); strings.Contains(out, "late") || strings.Contains(out, "low") {
			t.Errorf("a refused farm was kept:\n%s", out)
		}
	})
}

func TestPortTakenAtStartStopsNoOtherFarm(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		a := start(t, who, data)
		good, bad := a.farm("good", backend(t, "one")), a.farm("bad", backend(t, "two"))
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		addr := strings.TrimSuffix(strings.TrimPrefix(bad, "http://"), "/")
		taken, err := net.Listen("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		a = start(t, who, data)
		wantAnswer(t, good, "one")
		if out := a.must("status"); !strings.Contains(out, "cannot listen on "+addr) {
			t.Errorf("status lacks the reason:\n%s", out)
		}
		_ = taken.Close()
		within(t, 5e9, "the farm came up by itself when its port was free", func() error { _, err := get(bad); return err })
	})
}

func TestConfigFileIsAppliedAtStartAndOnReload(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data, dir := dataDir(t, who), dataDir(t, who)
		file, port := filepath.Join(dir, "sluice.yaml"), freePort(t)
		write := func(backend string) {
			t.Helper()
			host, bport, _ := net.SplitHostPort(backend)
			text := fmt.Sprintf("farms:\n- name: filed\n  profile: http\n  vip: 127.0.0.1\n  vport: %d\n"+
				"  services:\n  - name: all\n    backends:\n    - ip: %s\n      port: %s\n", port, host, bport)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if who.credential != nil {
				if err := os.Chown(file, int(who.credential.Uid), -1); err != nil {
					t.Fatal(err)
				}
			}
		}
		one, two := backend(t, "one"), backend(t, "two")
		write(one)
		a := start(t, who, data, "--config", file)
		url := fmt.Sprintf("http://127.0.0.1:%d/", port)
		wantAnswer(t, url, "one")

		write(two)
		a.must("reload", "--yes")
		wantAnswer(t, url, "two")

		write(one)
		_ = a.cmd.Process.Signal(hangup)
		within(t, 2e9, "the file is applied by SIGHUP", func() error {
			if text, err := get(url); err != nil || text != "one" {
				return fmt.Errorf("%q, %w", text, err)
			}
			return nil
		})

		a.must("farm", "set", "filed", "error503=later")
		a.kill("mgmt")
		within(t, 2e9, "mgmt back", func() error { return a.answers() })
		if out := a.must("farm", "show", "filed"); !strings.Contains(out, "later") {
			t.Errorf("a restart of mgmt undid a change made after the start:\n%s", out)
		}

		if err := os.WriteFile(file, []byte("farms:\n- name: bad name!\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := a.run("reload"); code != 1 || !strings.Contains(out, "bad name!") {
			t.Errorf("reload of a bad file: exit status %d: %s", code, out)
		}
		wantAnswer(t, url, "one")
	})
}
