package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint"
)

func TestFarmsAreLookedAtAndTheExitStatusSaysWhatWasFound(t *testing.T) {
	a := start(t)
	if out, errs, status := said(a, "farm", "lint"); status != command.ExitDone || out != "No findings.\n" || errs != "" {
		t.Errorf("without farms: %d %q %s", status, out, errs)
	}
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport=80")
	a.must("service", "create", "shop", "web")
	a.must("backend", "create", "shop", "web", "10.0.0.1:8080")
	a.health[1] = farm.StatusDown
	out, errs, status := said(a, "farm", "lint", "shop")
	if status != command.ExitDone || !strings.Contains(out, "info") || !strings.Contains(out, "backend-down") || errs != "" {
		t.Errorf("a finding of severity info: %d %s %s", status, out, errs)
	}
	a.must("service", "create", "shop", "api", "urlp=^/api/")
	out, errs, status = said(a, "farm", "lint")
	if status != command.ExitFound || errs != "" || !strings.HasPrefix(out, "SEVERITY") || !strings.Contains(out, "service-empty") || !strings.Contains(out, "farm shop, service web, backend 0") {
		t.Errorf("%d %s %s", status, out, errs)
	}
	a.must("backend", "create", "shop", "api", "10.0.0.2:8080")
	out, _, status = said(a, "farm", "lint", "--why")
	for _, want := range []string{"warning service-shadowed: farm shop, service api\n  service api gets no request: service web is before it", "\n  because: web: vhost (any) urlp (any); api:", "\n  do: move it before (sluice service move shop api 0)",
		"\n\ninfo backend-down: farm shop, service web, backend 0\n"} {
		if status != command.ExitFound || !strings.Contains(out, want) {
			t.Errorf("%d, without %q:\n%s", status, want, out)
		}
	}
	out, errs, status = said(a, "farm", "lint", "--json")
	var body struct{ Params []lint.Finding }
	if err := json.Unmarshal([]byte(out), &body); err != nil || status != command.ExitFound || len(body.Params) != 2 || body.Params[0].Example.Path != "/api/" || errs != "" {
		t.Errorf("%d %v %s %s", status, err, out, errs)
	}
	if _, errs, status := said(a, "farm", "lint", "none"); status != command.ExitRefused || !strings.Contains(errs, "the farm none does not exist") {
		t.Errorf("a farm that is none: %d %s", status, errs)
	}
	if _, _, status := said(a, "farm", "lint", "a", "b"); status != command.ExitUsage {
		t.Errorf("two farms: %d", status)
	}
}
