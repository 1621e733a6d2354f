package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sessionStatistics holds the session part of statistics.
type sessionStatistics struct {
	Sessions []struct {
		Client, Session, Service, TTL, Type string
		ID                                  int
		IP                                  string `json:"backend_ip"`
		Port                                int    `json:"backend_port"`
	}
	Total *int `json:"total_sessions"`
}

func (a *appliance) sessions(key, path string) (out sessionStatistics, err error) {
	a.t.Helper()
	code, text := a.rest(key, http.MethodGet, "/stats/farms/"+path, nil)
	if code != http.StatusOK {
		return out, fmt.Errorf("%d %s", code, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.Total == nil {
		a.t.Fatalf("%v in %s", err, text)
	}
	return out, nil
}

// comeAs sends a request with a session cookie and returns the backend's name.
func comeAs(t *testing.T, url, cookie string) string {
	t.Helper()
	text, err := getAs(url, cookie)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func getAs(url, cookie string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Cookie", "SID="+cookie)
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %s: %s", cookie, resp.Status, b)
	}
	return string(b), err
}

func TestStatisticsShowSessionsUntilTheyEnd(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		addrs := map[string]string{"one": backend(t, "one"), "two": backend(t, "two")}
		url := a.farm("shop", addrs["one"])
		a.must("backend", "create", "shop", "all", addrs["two"])
		key := a.key()
		service := func(ttl int) {
			t.Helper()
			body := map[string]any{"persistence": "COOKIE", "sessionid": "SID", "ttl": ttl}
			if code, text := a.rest(key, http.MethodPut, "/farms/shop/services/all", body); code != http.StatusOK {
				t.Fatalf("PUT of the service: %d %s", code, text)
			}
		}
		service(3600)
		answered := map[string]string{}
		for i := range 5 {
			cookie := fmt.Sprintf("secret-%d", i)
			answered[cookie] = comeAs(t, url, cookie)
		}
		for _, path := range []string{"shop", "shop/backends", "shop/services/all/backends"} {
			got, err := a.sessions(key, path)
			if err != nil || *got.Total != 5 || len(got.Sessions) != 5 {
				t.Fatalf("%s: %+v, %v", path, got, err)
			}
			for _, s := range got.Sessions {
				ttl, err := time.ParseDuration(s.TTL)
				at := net.JoinHostPort(s.IP, fmt.Sprint(s.Port))
				if at != addrs[answered[s.Session]] || s.Service != "all" || s.Type != "dynamic" || err != nil || ttl < 50*time.Minute || ttl > time.Hour {
					t.Errorf("%s: %+v, answered by %s", path, s, answered[s.Session])
				}
			}
		}

		pid := a.pid("engine")
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		within(t, 10*time.Second, "no thread of the engine runs any more", func() error { return stopped(pid) })
		if got, err := a.sessions(key, "shop"); err != nil || *got.Total != 0 || len(got.Sessions) != 0 {
			t.Errorf("while the engine is stuck: %+v, %v", got, err)
		}
		_ = syscall.Kill(pid, syscall.SIGCONT) // on a slow machine it was replaced already
		within(t, 10*time.Second, "an engine that goes on is asked again", func() error {
			if got, err := a.sessions(key, "shop"); err != nil || *got.Total != 5 {
				return fmt.Errorf("%+v, %v", got, err)
			}
			return nil
		})

		a.kill("engine") // statistics never fail
		if got, err := a.sessions(key, "shop"); err != nil || *got.Total != len(got.Sessions) {
			t.Errorf("without an engine: %+v, %v", got, err)
		}
		within(t, 10*time.Second, "the next engine knows the sessions", func() error {
			if got, err := get(url); err != nil {
				return fmt.Errorf("%s: %w", got, err)
			}
			comeAs(t, url, "secret-late")
			if got, err := a.sessions(key, "shop"); err != nil || *got.Total != 6 {
				return fmt.Errorf("%+v, %w", got, err)
			}
			return nil
		})
		for cookie, who := range answered {
			if now := comeAs(t, url, cookie); now != who {
				t.Errorf("%s went to %s, and after the engine died to %s", cookie, who, now)
			}
		}

		service(2)
		comeAs(t, url, "secret-late")
		within(t, 10*time.Second, "a session ends by its ttl", func() error {
			if got, err := a.sessions(key, "shop"); err != nil || *got.Total != 0 || len(got.Sessions) != 0 {
				return fmt.Errorf("%+v, %v", got, err)
			}
			return nil
		})
		a.mu.Lock()
		defer a.mu.Unlock()
		if strings.Contains(a.log.String(), "secret-") {
			t.Error("the log holds a session's key")
		}
	})
}

// Static sessions work from the first request on, after any restart.
func TestStaticSessionsSurviveRestarts(t *testing.T) {
	who := asOne()
	data := dataDir(t, who)
	a := start(t, who, data)
	url := a.farm("shop", backend(t, "one"))
	a.must("backend", "create", "shop", "all", backend(t, "two"))
	a.must("service", "set", "shop", "all", "persistence=COOKIE", "sessionid=SID", "ttl=60")
	for i := range 8 {
		a.must("session", "create", "shop", "all", fmt.Sprint("fixed-", i), fmt.Sprint(i%2))
	}
	fixed := func() error {
		for i := range 8 {
			if got, err := getAs(url, fmt.Sprint("fixed-", i)); err != nil || got != []string{"one", "two"}[i%2] {
				return fmt.Errorf("fixed-%d is answered %q, %v", i, got, err)
			}
		}
		return nil
	}
	if err := fixed(); err != nil {
		t.Fatal(err)
	}
	a.kill("engine")
	within(t, 10*time.Second, "the next engine has them", fixed)
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	a = start(t, who, data)
	within(t, 10*time.Second, "the next appliance has them", fixed)
	exported := a.must("export")
	for i := range 8 {
		if !strings.Contains(exported, fmt.Sprint("- fixed-", i)) {
			t.Errorf("fixed-%d is not in\n%s", i, exported)
		}
	}
	a.must("session", "delete", "shop", "all", "fixed-3")
	if out := a.must("session", "list", "shop", "all"); strings.Contains(out, "fixed-3") || strings.Count(out, "static") != 7 {
		t.Errorf("listed\n%s", out)
	}
	a.must("rollback", "--yes", fmt.Sprint(revision(t, a)-1))
	if err := fixed(); err != nil {
		t.Errorf("after a rollback: %v", err)
	}
}

func revision(t *testing.T, a *appliance) (n int) {
	t.Helper()
	var history struct{ Params []struct{ Number int } }
	if err := json.Unmarshal([]byte(a.must("history", "--json")), &history); err != nil || len(history.Params) == 0 {
		t.Fatalf("%v in %s", err, a.must("history", "--json"))
	}
	return history.Params[0].Number
}
