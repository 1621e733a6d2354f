package e2e_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// explanation holds the tested fields of an explanation.
type explanation struct {
	Params struct {
		Services []struct {
			Name    string
			Matched bool
		}
		Head   []string
		Result struct {
			Outcome, Service, Address, Step string
			Status                          int
			Backend                         *int
		}
	}
}

func (a *appliance) explain(args ...string) (e explanation) {
	a.t.Helper()
	out := a.must(append([]string{"explain", "shop", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		a.t.Fatalf("%v: %s", err, out)
	}
	return e
}

func TestRequestsAreExplainedByTheRunningEngine(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		one, two := backend(t, "one"), backend(t, "two")
		url := a.farm("shop", one)
		a.must("backend", "create", "shop", "all", two)
		a.must("service", "create", "shop", "api", "urlp=^/api/")
		a.must("service", "set", "shop", "all", "urlp=^/a")
		answers := map[string]string{one: "one", two: "two"}
		for range 6 { // each choice is predicted
			e := a.explain(url+"a/b", "-H", "Cookie: sid=secret")
			r := e.Params.Result
			if r.Outcome != "forward" || r.Service != "all" || r.Backend == nil || answers[r.Address] == "" {
				t.Fatalf("got %+v", e)
			}
			if head := strings.Join(e.Params.Head, "\n"); !strings.HasPrefix(head, "GET /a/b HTTP/1.1\nHost: 127.0.0.1:") || strings.Contains(head, "secret") {
				t.Errorf("the head is %q", head)
			}
			wantAnswer(t, url+"a", answers[r.Address])
		}
		if e := a.explain("/nowhere"); e.Params.Result.Status != 503 || e.Params.Result.Step != "services" || len(e.Params.Services) != 2 {
			t.Errorf("got %+v", e)
		}
		if out := a.must("explain", "shop", "/../etc/passwd"); !strings.Contains(out, "refused with 400: path climbs above the root") {
			t.Errorf("got %s", out)
		}
		if out := a.must("explain", "shop", "/a", "-X", "POST", "--from", "192.0.2.7"); !strings.Contains(out, "from 192.0.2.7 to farm shop") || !strings.Contains(out, "X-Forwarded-For: 192.0.2.7") {
			t.Errorf("got %s", out)
		}
		a.must("farm", "stop", "shop")
		if out, code := a.run("explain", "shop", "/"); code != 1 || !strings.Contains(out, "is stopped") {
			t.Errorf("of a stopped farm: %d %s", code, out)
		}
		a.must("farm", "start", "shop")
		a.kill("engine")
		within(t, 10*time.Second, "an explanation by the next engine", func() error {
			if out, code := a.run("explain", "shop", "/a"); code != 0 {
				return errors.New(out)
			}
			return nil
		})
	})
}
