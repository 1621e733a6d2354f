package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// learned is the known capacity of backends by stable number.
type learned map[uint32]headroom.Known

func (l learned) Of(_ *farm.Farm, b *farm.Backend, _ time.Time) headroom.Known { return l[b.ID] }

// known is a shop with three backends: one with a known saturation point, one never
// saturated, one unknown.
func known(t *testing.T) *appliance {
	a := start(t)
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport=80")
	a.must("service", "create", "shop", "web")
	for _, ip := range []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"} {
		a.must("backend", "create", "shop", "web", ip)
	}
	base := headroom.Estimate{State: headroom.Bent, Bend: 8, Base: 50 * time.Millisecond, Carried: 8, Highest: 30}
	a.learned[1] = headroom.Known{Counted: true, Estimate: base, Load: 2, Rate: 40, Peak: 4, PeakRate: 80}
	base.State, base.Bend = headroom.Unbent, 0
	a.learned[2] = headroom.Known{Counted: true, Estimate: base, Load: 2, Rate: 40, Peak: 4, PeakRate: 80}
	a.learned[3] = headroom.Known{Counted: true}
	return a
}

func TestHeadroomIsShownInATable(t *testing.T) {
	a := start(t)
	if out := a.must("headroom"); out != "There are no backends.\n" {
		t.Errorf("%q", out)
	}
	a = known(t)
	out := a.must("headroom", "shop")
	want := `FARM  SERVICE  ID  BACKEND        BASE  LIMIT  NOW  PEAK  ROOM  AT-PEAK  CONN-LIMIT  WEIGHT
shop  web       0  10.0.0.1:8080  50ms  8.0    2.0  4.0   75%   50%              11  -
shop  web       1  10.0.0.2:8080  50ms  >8.0   2.0  4.0   75%   50%               -  -
shop  web       2  10.0.0.3:8080  -     -      0.0  -     -     -                 -  -
`
	if out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	out = a.must("headroom", "--why")
	for _, text := range []string{"shop/web/0 (10.0.0.1): latency bends at 8 at once\n  do: connection_limit=11: beyond", "shop/web/1 (10.0.0.2): no bend was seen yet: never above 30 at once\n", "shop/web/2 (10.0.0.3): not known yet"} {
		if !strings.Contains(out, text) {
			t.Errorf("%s lacks %q", out, text)
		}
	}
	if out := a.must("headroom", "--json"); !strings.Contains(out, `"headroom_peak": 50`) {
		t.Errorf("%s", out)
	}
	if _, errs, status := said(a, "headroom", "none"); status != command.ExitRefused || !strings.Contains(errs, "the farm none does not exist") {
		t.Errorf("%d %s", status, errs)
	}
}

func TestRehearsalsAreShownInATable(t *testing.T) {
	a := known(t)
	a.must("backend", "maintenance", "shop", "web", "2")
	out, _, status := said(a, "rehearse", "--backend", "shop/web/1")
	want := `Farm shop, service web (round robin): fits: 1 takes over 40 requests a second, and all stay below their limits.
ID  BACKEND        STATUS       BEFORE  AFTER  UNDER-WAY  LIMIT  VERDICT  WHY
 0  10.0.0.1:8080  up           40      80     4.0        8.0    fits     has 4 at once then, of the 8 at which it bends
 2  10.0.0.3:8080  maintenance  0.0     0.0    0.0        -      fits     gets nothing: it is in maintenance
`
	if out != want || status != command.ExitDone {
		t.Errorf("%d, got\n%swant\n%s", status, out, want)
	}
	l := a.learned[1]
	l.Bend = 3
	a.learned[1] = l
	if out, errs, status := said(a, "rehearse", "--backend=shop/web/1", "--peak"); status != command.ExitFound || errs != "" || !strings.Contains(out, "does not fit: backend 0 (10.0.0.1) has 8 at once then, and bends at 3") {
		t.Errorf("%d %s %s", status, out, errs)
	}
	for _, args := range [][]string{{"--farm", "shop"}, {"--farm", "shop", "--half"}, {"--farm", "shop", "--share", "34"}} { // one of three
		if out, errs, _ := said(a, append([]string{"rehearse"}, args...)...); !strings.Contains(out, " 1  10.0.0.2:8080") || strings.Contains(out, "10.0.0.1:8080") {
			t.Errorf("%v: %s %s", args, out, errs)
		}
	}
	if out, _, status := said(a, "rehearse", "--backend=shop/web/0,shop/web/1", "--json"); status != command.ExitFound || !strings.Contains(out, `"nobody is left who can be used"`) {
		t.Errorf("%d %s", status, out)
	}
	for _, args := range [][]string{{}, {"--half"}, {"--share", "3"}, {"--farm", "shop", "--half", "--share", "3"}, {"shop"}} {
		if _, errs, status := said(a, append([]string{"rehearse"}, args...)...); status != command.ExitUsage {
			t.Errorf("%v: %d %s", args, status, errs)
		}
	}
	for _, args := range [][]string{{"--backend", "shop/web/9"}, {"--farm", "none"}, {"--farm", "shop", "--share", "0"}} {
		if _, errs, status := said(a, append([]string{"rehearse"}, args...)...); status != command.ExitRefused || errs == "" {
			t.Errorf("%v: %d %s", args, status, errs)
		}
	}
}
