package notify

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

const tick = 2 * time.Second

func TestDownAndRecoveredBackendsAreMailed(t *testing.T) {
	h, l := newHouse(t), oddly(1, 2)
	h.set(t, func(s *Settings) { s.Backends.Prefix = "[prod]" })
	h.look(0, l)
	l.is(farm.StatusDown, 2)
	l.why[2] = "refused three connects"
	for range 8 {
		h.look(tick, l)
	}
	mails := h.took(t)
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	m := mails[0]
	if m.Subject != "[prod] lb1: backend 1 (10.0.0.1:8002) of service web of farm shop is down" || m.From != "lb@example.com" || len(m.To) != 1 || m.To[0] != "ops@example.com" || m.Host != "lb1" {
		t.Errorf("%+v", m)
	}
	if want := "2026-11-24 09:00:02 UTC  backend 1 (10.0.0.1:8002) of service web of farm shop is down: it refused three connects\n\n-- \nSluice on lb1. `sluice notification disable backends` ends these mails.\n"; m.Text != want {
		t.Errorf("%q\nwant %q", m.Text, want)
	}
	l.is(farm.StatusUp, 2)
	for range 60 {
		h.look(tick, l)
	}
	if mails = h.took(t); len(mails) != 2 || !strings.HasSuffix(mails[1].Subject, "of farm shop is up again") || strings.Contains(mails[1].Text, ": it") {
		t.Errorf("%+v", mails)
	}
}

// A restart does not hide changes of backends.
func TestABackendThatChangedDuringARestartIsReported(t *testing.T) {
	h, l := newHouse(t), shop(1, 2, 3, 4, 5)
	thirty := 30
	h.set(t, func(s *Settings) { s.Backends.AvoidFlapping = &thirty })
	h.Resume(farmstate.Earlier{1: farm.StatusUp, 2: farm.StatusDown, 3: farm.StatusDown, 4: farm.StatusUndefined})
	l.is(farm.StatusDown, 1, 3, 4, 5) // nobody knows how long 4 has been down
	l.is(farm.StatusUp, 2)
	h.look(0, l)
	h.look(tick, l)
	if mails := h.took(t); len(mails) != 0 {
		t.Fatalf("reported at once: %q", mails[0].Subject)
	}
	h.look(30*time.Second, l)
	h.look(GatherTime, l)
	mails := h.took(t)
	if len(mails) != 1 || !strings.Contains(mails[0].Text, "backend 0 (10.0.0.1:8001) of service web of farm shop is down") ||
		!strings.Contains(mails[0].Text, "backend 1 (10.0.0.1:8002) of service web of farm shop is up again") ||
		!strings.Contains(mails[0].Text, "backend 4 (10.0.0.1:8005) of service web of farm shop is down") || strings.Contains(mails[0].Text, "8003") || strings.Contains(mails[0].Text, "8004") || strings.Contains(mails[0].Text, "the farm") {
		t.Errorf("%+v", mails)
	}
	l.is(farm.StatusUp, 4)
	h.look(tick, l)
	h.look(30*time.Second, l)
	h.look(GatherTime, l)
	if mails = h.took(t); len(mails) != 2 || !strings.Contains(mails[1].Text, "8004") {
		t.Errorf("later: %+v", mails)
	}
}

func TestAStateHasToLast(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	thirty := 30
	h.set(t, func(s *Settings) { s.Backends.AvoidFlapping = &thirty })
	h.look(0, l)
	for range 20 { // down for 28 s, up for 2 s
		l.is(farm.StatusDown, 1)
		h.look(tick, l)
		h.look(28*time.Second, l)
		l.is(farm.StatusUp, 1)
		h.look(0, l)
		h.look(tick, l)
	}
	if mails := h.took(t); len(mails) != 0 {
		t.Fatalf("a flapping backend was reported: %q", mails[0].Subject)
	}
	l.is(farm.StatusDown, 1)
	h.look(tick, l)
	h.look(30*time.Second, l)
	h.look(GatherTime, l)
	if mails := h.took(t); len(mails) != 1 {
		t.Errorf("%d mails", len(mails))
	}
}

func TestOnlyVisibleChangesAreMailed(t *testing.T) {
	none := 0
	for name, c := range map[string]struct {
		change func(l *looked)
		want   bool
	}{
		"as it is":       {func(*looked) {}, true},
		"a stopped farm": {func(l *looked) { l.cfg.Farms[0].Stopped = true }, false},
		"in maintenance": {func(l *looked) { l.backend(0).Maintenance = farm.MaintenanceDrain }, false},
		"a redirect":     {func(l *looked) { l.cfg.Farms[0].HTTP.Services[0].Redirect = "https://x" }, false},
		"left its name":  {func(l *looked) { l.backend(0).Left, l.backend(0).Of = true, 9 }, false},
		"not known":      {func(l *looked) { l.is(farm.StatusUndefined, 1) }, false},
		"a name of nothing": {func(l *looked) {
			b := l.backend(0)
			b.Host, b.Addr = "db.example", netip.Addr{}
			l.is(farm.StatusUp, 1)
		}, true},
		"of several servers": {func(l *looked) { l.backend(0).Resolve, l.backend(1).Of = farm.ResolveAll, 1 }, false},
	} {
		h, l := newHouse(t), oddly(1, 2)
		h.set(t, func(s *Settings) { s.Backends.AvoidFlapping = &none })
		h.look(0, l)
		l.is(farm.StatusDown, 1)
		c.change(l)
		h.look(tick, l)
		h.look(time.Minute, l)
		if mails := h.took(t); (len(mails) == 1) != c.want {
			t.Errorf("%s: %d mails", name, len(mails))
		}
	}
}

func TestMaintenanceEndsNoState(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	four := 4
	h.set(t, func(s *Settings) { s.Backends.AvoidFlapping = &four })
	h.look(0, l)
	l.is(farm.StatusDown, 1)
	h.look(tick, l)
	l.backend(0).Maintenance = farm.MaintenanceCut
	l.is(farm.StatusDown, 1)
	h.look(time.Minute, l)
	l.backend(0).Maintenance = farm.MaintenanceOff
	l.is(farm.StatusDown, 1)
	h.look(tick, l) // the period starts again
	h.look(tick, l)
	if len(h.took(t)) != 0 {
		t.Error("the time in maintenance counts")
	}
	h.look(tick, l)
	if len(h.took(t)) != 1 {
		t.Error("it is not reported")
	}
}

func TestTheFirstLookOnlyRemembersAndANewBackendCountsAsUp(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	h.set(t)
	l.is(farm.StatusDown, 1)
	h.look(0, l)
	h.look(time.Minute, l)
	h.look(time.Minute, l)
	if len(h.took(t)) != 0 {
		t.Error("a backend that was down before is reported")
	}
	grown := oddly(1, 2)
	grown.is(farm.StatusDown, 1, 2)
	for range 10 {
		h.look(tick, grown)
	}
	if mails := h.took(t); len(mails) != 1 || !strings.Contains(mails[0].Subject, "backend 1 (10.0.0.1:8002)") {
		t.Errorf("%+v", mails)
	}
	grown.is(farm.StatusUp, 1)
	for range 40 {
		h.look(tick, grown)
	}
	if mails := h.took(t); len(mails) != 2 || !strings.Contains(mails[1].Subject, "backend 0 (10.0.0.1:8001) of service web of farm shop is up again") {
		t.Errorf("%+v", mails)
	}
}

func TestUnchangedStateCostsNothing(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	h.set(t)
	h.look(0, l)
	known := l.known()
	h.LookBackends(l.cfg, l.version, known)
	if n := testing.AllocsPerRun(100, func() { h.LookBackends(l.cfg, l.version, known) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFlappingDelayIsRespected(t *testing.T) {
	h, l := newHouse(t), shop(1, 2)
	h.set(t)
	h.look(0, l)
	looks := 0
	known := l.known()
	health := known.Health
	known.Health = func(id uint32) farm.Status { looks++; return health(id) }
	watch := func(long time.Duration, want int) {
		t.Helper()
		looks = 0
		for range long / quick {
			h.pass(quick)
			h.LookBackends(l.cfg, l.version, known)
		}
		if looks != 2*want {
			t.Errorf("%d looks at 2 backends, want %d", looks, want)
		}
	}
	for i := range flapTurns {
		l.is([]farm.Status{farm.StatusDown, farm.StatusUp}[i%2], 1)
		watch(30*time.Second, 2)
	}
	watch(settleTime-30*time.Second, 0)
	watch(time.Hour, 1)
	l.is(farm.StatusDown, 1)
	watch(quick, 1)
	h.pass(-time.Hour)
	watch(quick, 1) // the duration is unknown, so the period starts again
	watch(time.Hour, 1)
	if got := subjects(t, h); !strings.HasSuffix(got[len(got)-1], "backend 0 (10.0.0.1:8001) of service web of farm shop is down") {
		t.Errorf("%q", got)
	}
}

func TestMailNeedsAServerAndEnabledNotifications(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	down := func() {
		l.is(farm.StatusUp, 1)
		h.look(time.Minute, l)
		h.look(time.Minute, l)
		l.is(farm.StatusDown, 1)
		h.look(time.Minute, l)
		h.look(time.Minute, l)
		h.look(time.Minute, l)
	}
	h.look(0, l)
	down()
	if d := h.Delivery(); d != (Delivery{}) || !strings.Contains(h.Problem(), "no mail server") {
		t.Errorf("%+v, %s", d, h.Problem())
	}
	h.set(t)
	if err := h.Enable(root, Backends, false, nothing); err != nil {
		t.Fatal(err)
	}
	down()
	if len(h.took(t)) != 0 {
		t.Error("sent though disabled")
	}
	if err := h.Enable(root, Backends, true, nothing); err != nil {
		t.Fatal(err)
	}
	if down(); len(h.took(t)) == 0 {
		t.Error("not sent though enabled")
	}
}

func TestFlappingBackendIsMailedOnceStable(t *testing.T) {
	for _, end := range []farm.Status{farm.StatusUp, farm.StatusDown} {
		h, l := newHouse(t), oddly(1)
		h.set(t)
		h.look(0, l)
		for i := range 120 { // one change every half minute for an hour
			l.is([]farm.Status{farm.StatusDown, farm.StatusUp}[i%2], 1)
			for range 15 {
				h.look(tick, l)
			}
		}
		lines := func() (out []string) {
			for _, m := range h.took(t) {
				out = append(out, strings.Split(strings.Split(m.Text, "\n\n")[0], "\n")...)
			}
			return out
		}
		before := lines()
		if len(before) != flapTurns || !strings.HasSuffix(before[3], "turned 4 times within 10 minutes, and is told of again once it has stayed for 5") || strings.Contains(before[2], "turned") {
			t.Fatalf("%d lines: %q", len(before), before)
		}
		l.is(end, 1)
		for range 5 * 30 {
			h.look(tick, l)
		}
		if end == farm.StatusDown && len(lines()) != flapTurns {
			t.Error("it is reported before it is stable")
		}
		for range 60 {
			h.look(tick, l)
		}
		want := map[farm.Status]string{farm.StatusUp: "is up again", farm.StatusDown: "is down"}[end]
		if all := lines(); len(all) != flapTurns+1 || !strings.HasSuffix(all[flapTurns], want) {
			t.Fatalf("%q", all)
		}
		l.is(map[farm.Status]farm.Status{farm.StatusUp: farm.StatusDown, farm.StatusDown: farm.StatusUp}[end], 1)
		for range 60 { // a settled backend is reported at once
			h.look(tick, l)
		}
		if all := lines(); len(all) != flapTurns+2 {
			t.Errorf("%q", all)
		}
		h.Close()
	}
}

func TestOneThatTurnsSeldomDoesNotFlap(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	h.set(t)
	h.look(0, l)
	for i := range 8 {
		l.is([]farm.Status{farm.StatusDown, farm.StatusUp}[i%2], 1)
		for range 30 * 4 { // four minutes
			h.look(tick, l)
		}
	}
	if mails := h.took(t); len(mails) != 8 {
		t.Errorf("%d mails", len(mails))
	}
}
