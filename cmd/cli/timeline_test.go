package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/mgmt/eventlog"
)

func TestTheTimelineShowsWhatHappenedNewestLast(t *testing.T) {
	a := start(t)
	if out := a.must("timeline"); out != "Nothing happened.\n" {
		t.Errorf("without farms: %q", out)
	}
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport=80")
	a.events.Add(eventlog.Event{Time: time.Now(), Kind: eventlog.Health, Severity: eventlog.Warning, Farms: []uint32{1}, Farm: "shop", Service: "web", Backend: "0 (10.0.0.1:80)", Text: "is down"})
	lines := strings.Split(strings.TrimSpace(a.must("timeline", "--since", "10m")), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "TIME") || !strings.Contains(lines[1], "revision 1 by root") || !strings.Contains(lines[2], "0 (10.0.0.1:80)  is down") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if out := a.must("timeline", "--farm", "shop", "--kind", "health", "--json"); !strings.Contains(out, `"text": "is down"`) || strings.Contains(out, "revision 1") {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{{"--farm", "none"}, {"--since", "yesterday"}, {"--kind", "weather"}, {"--until", "soon"}} {
		if _, errs, status := said(a, append([]string{"timeline"}, args...)...); status != command.ExitRefused || !strings.Contains(errs, args[1]) {
			t.Errorf("%v: %d %s", args, status, errs)
		}
	}
	if _, _, status := said(a, "timeline", "shop"); status != command.ExitUsage {
		t.Errorf("an argument: %d", status)
	}
}
