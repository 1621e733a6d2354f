package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
)

// quick is about the interval of looks in an appliance.
const quick = 250 * time.Millisecond

// numbers returns 1 to n.
func numbers(n int) (ids []uint32) {
	for id := range uint32(n) {
		ids = append(ids, id+1)
	}
	return ids
}

// watch looks repeatedly for a period.
func (h *house) watch(long time.Duration, l *looked) {
	for range long / quick {
		h.look(quick, l)
	}
}

func subjects(t *testing.T, h *house) (out []string) {
	for _, m := range h.took(t) {
		out = append(out, strings.TrimPrefix(m.Subject, "lb1: "))
	}
	return out
}

func TestSingleEventIsSentWithinASecond(t *testing.T) {
	r := newReceiver(t)
	h, l := hooked(t, r), oddly(1)
	h.set(t)
	h.watch(time.Second, l)
	h.mu.Lock()
	l.since = map[uint32]time.Time{1: h.now.Add(100 * time.Millisecond)}
	h.mu.Unlock()
	l.is(farm.StatusDown, 1)
	h.watch(DefaultAvoidFlapping*time.Second, l)
	if r.tried() != 0 {
		t.Error("it is reported before it has lasted")
	}
	h.watch(quick, l) // 1.15 s after the verdict
	p := r.got(t, 1)[0]
	if !p.Events[0].Time.Equal(l.since[1]) || len(h.took(t)) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestARackThatFailsAtOnceIsOneMessage(t *testing.T) {
	r := newReceiver(t)
	h, l := hooked(t, r), shop(numbers(50)...)
	h.set(t)
	h.look(0, l)
	l.is(farm.StatusDown, numbers(50)...)
	h.watch(5*time.Minute, l)
	posts := r.got(t, 1)
	if len(posts) != 1 || posts[0].Summary != "farm shop is critical, 50 backends are down" || len(posts[0].Events) != 51 || posts[0].More != 0 || posts[0].Severity != event.Error {
		t.Errorf("%d messages, %+v", len(posts), posts[0])
	}
	if e := posts[0].Events[0]; e.Kind != event.FarmStatus || e.Farm != "shop" || !strings.HasPrefix(e.Text, "farm shop is critical: no backend is usable: backend 0 (10.0.0.1) of service web is down") {
		t.Errorf("%+v", e)
	}
	if mails := h.took(t); len(mails) != 1 || mails[0].Subject != "lb1: farm shop is critical, 50 backends are down" || strings.Count(mails[0].Text, " is down\n") != 50 {
		t.Errorf("%d mails", len(mails))
	}
	l.is(farm.StatusUp, numbers(50)...)
	h.watch(5*time.Minute, l)
	if got := subjects(t, h); len(got) != 2 || got[1] != "farm shop is up again, 50 backends are up again" {
		t.Errorf("%q", got)
	}
}

func TestFarmEventIncludesItsBackends(t *testing.T) {
	h, l := newHouse(t), shop(1, 2, 3)
	h.set(t)
	h.watch(time.Second, l)
	h.mu.Lock()
	l.since = map[uint32]time.Time{1: h.now.Add(10 * time.Millisecond), 2: h.now.Add(300 * time.Millisecond)}
	h.mu.Unlock()
	l.is(farm.StatusDown, 1)
	h.look(quick, l)
	l.is(farm.StatusDown, 2)
	h.watch(time.Second, l)
	if got := subjects(t, h); len(got) != 1 || got[0] != "farm shop has a problem, backend 0 (10.0.0.1:8001) of service web of farm shop is down" {
		t.Fatalf("%q", got)
	}
	h.watch(time.Minute, l)
	if got := subjects(t, h); len(got) != 2 || got[1] != "backend 1 (10.0.0.1:8002) of service web of farm shop is down" {
		t.Fatalf("%q", got)
	}
	h.watch(time.Minute, l) // a quiet period: the next incident is reported as quickly
	l.is(farm.StatusUp, 1)
	h.watch(1500*time.Millisecond, l)
	l.is(farm.StatusUp, 2)
	h.watch(GatherTime, l)
	if got := subjects(t, h); len(got) != 4 || got[3] != "farm shop is up again, backend 1 (10.0.0.1:8002) of service web of farm shop is up again" {
		t.Fatalf("%q", got)
	}
}

func TestARackThatFailsBitByBitIsTwoMessages(t *testing.T) {
	r := newReceiver(t)
	h, l := hooked(t, r), shop(numbers(50)...)
	h.set(t)
	h.look(0, l)
	for _, status := range []farm.Status{farm.StatusDown, farm.StatusUp} {
		for _, id := range numbers(50) { // checks every 5 s detect them within 6 s
			l.is(status, id)
			h.look(quick/2, l)
		}
		h.watch(5*time.Minute, l)
	}
	want := []string{
		"farm shop has a problem, backend 0 (10.0.0.1:8001) of service web of farm shop is down", "farm shop is critical, 49 backends are down",
		"farm shop is no longer critical, but has a problem, backend 0 (10.0.0.1:8001) of service web of farm shop is up again", "farm shop is up again, 49 backends are up again",
	}
	got := subjects(t, h)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("mails:\n%s", strings.Join(got, "\n"))
	}
	for i, p := range r.got(t, 4) {
		if p.Summary != want[i] {
			t.Errorf("message %d: got %s, want %s", i, p.Summary, want[i])
		}
	}
	if r.tried() != 4 {
		t.Errorf("%d messages", r.tried())
	}
}

func TestMailsAreSpacedDuringAnOutage(t *testing.T) {
	h, l := newHouse(t), oddly(numbers(400)...)
	h.set(t)
	h.look(0, l)
	var at []time.Time
	for i, id := range numbers(400) { // one every two seconds, for 800 s
		l.is(farm.StatusDown, id)
		h.watch(2*time.Second, l)
		if n := len(h.took(t)); n > len(at) {
			h.mu.Lock()
			at = append(at, h.now)
			h.mu.Unlock()
		}
		if i == 0 && len(at) != 1 {
			t.Fatal("the first one waits")
		}
	}
	for i := 1; i < len(at); i++ {
		apart, want := at[i].Sub(at[i-1]), QuietTime
		if i == 1 {
			want = GatherTime
		}
		if apart < want || apart > want+4*time.Second {
			t.Errorf("mail %d comes %s after the one before", i, apart)
		}
	}
	if len(at) != 15 {
		t.Errorf("%d mails", len(at))
	}
	h.watch(QuietTime, l)
	all := h.took(t)
	lines := 0
	for _, m := range all {
		lines += strings.Count(m.Text, " is down\n")
	}
	if lines != 400 {
		t.Errorf("%d backends are reported", lines)
	}
}

func TestMessageLinesAreBoundedAndOthersCounted(t *testing.T) {
	h, l := newHouse(t), oddly(numbers(mostLines+10)...)
	none := 0
	h.set(t, func(s *Settings) { s.Backends.AvoidFlapping = &none })
	h.look(0, l)
	l.is(farm.StatusDown, numbers(mostLines+10)...)
	h.look(quick, l)
	m := h.took(t)[0]
	if m.Subject != "lb1: 210 backends are down" || !strings.Contains(m.Text, "\nand 10 more\n") || strings.Count(m.Text, " UTC  ") != mostLines {
		t.Errorf("%s\n%s", m.Subject, m.Text)
	}
}

func TestFlappingFarmIsMailedWithItsBackend(t *testing.T) {
	h, l := newHouse(t), shop(1, 2)
	h.set(t)
	h.look(0, l)
	for i := range 20 {
		l.is([]farm.Status{farm.StatusDown, farm.StatusUp}[i%2], 1)
		h.watch(30*time.Second, l)
	}
	lines := 0
	for _, m := range h.took(t) {
		lines += strings.Count(m.Text, " UTC  ")
	}
	if lines != 2*flapTurns-1 { // two changes of the farm were in one mail, which reports the last
		t.Errorf("%d lines: %q", lines, subjects(t, h))
	}
	h.watch(2*settleTime, l)
	if got := subjects(t, h); got[len(got)-1] != "farm shop is up again, backend 0 (10.0.0.1:8001) of service web of farm shop is up again" {
		t.Errorf("%q", got)
	}
}

func TestWorseningFarmIsMailedAtOnce(t *testing.T) {
	h, l := newHouse(t), shop(1, 2)
	h.set(t)
	h.look(0, l)
	for i := range 9 { // the last state is down
		l.is([]farm.Status{farm.StatusDown, farm.StatusUp}[i%2], 1)
		h.watch(30*time.Second, l)
	}
	before := len(h.took(t))
	l.is(farm.StatusDown, 2)
	h.watch(1250*time.Millisecond, l)
	if got := subjects(t, h); len(got) != before+1 || got[before] != "farm shop is critical, backend 1 (10.0.0.1:8002) of service web of farm shop is down" {
		t.Errorf("%q", got)
	}
}

func TestIrrelevantFarmsAreNotMailed(t *testing.T) {
	for name, change := range map[string]func(*looked){
		"stopped":               func(l *looked) { l.cfg.Farms[0].Stopped, l.farm = true, farm.StatusDown },
		"being made":            func(l *looked) { l.cfg.Farms[0].HTTP.Services[0].Backends, l.farm = nil, farm.StatusCritical },
		"about to run anew":     func(l *looked) { l.farm = farm.StatusNeededRestart },
		"down for a moment":     func(l *looked) { l.farm = farm.StatusDown },
		"down before the start": nil,
	} {
		h, l := newHouse(t), shop(1)
		h.set(t)
		if change == nil {
			l.farm = farm.StatusDown
			h.look(0, l)
		} else {
			h.look(0, l)
			change(l)
		}
		l.version++
		h.watch(time.Second-quick, l)
		if name == "down for a moment" {
			l.farm = farm.StatusUp
			l.version++
		}
		h.watch(time.Minute, l)
		if got := subjects(t, h); len(got) != 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestASummaryOfSeveralFarmsCountsThem(t *testing.T) {
	var d digest
	now := time.Unix(1, 0)
	steps := []struct {
		name   string
		status farm.Status
		want   string
	}{
		{"a", farm.StatusProblem, "farm a has a problem"},
		{"b", farm.StatusUp, "1 farm has a problem, 1 farm is well again"},
		{"a", farm.StatusDown, "1 farm is critical or down, 1 farm is well again"}, // its previous state is no longer reported
		{"c", farm.StatusCritical, "2 farms are critical or down, 1 farm is well again"},
		{"d", farm.StatusProblem, "2 farms are critical or down, 1 farm has a problem, 1 farm is well again"},
		{"e", farm.StatusMaintenance, "2 farms are critical or down, 1 farm has a problem, 2 farms are well again"},
		{"f", farm.StatusProblem, "2 farms are critical or down, 2 farms have a problem, 2 farms are well again"},
	}
	for _, s := range steps {
		d.add(happening(event.OfFarm(&farm.Farm{Name: s.name}, s.status, "", "", now)), now)
		if got := d.summary(); got != s.want {
			t.Errorf("%s, want %s", got, s.want)
		}
	}
	d.add(happening(event.Event{Kind: event.EngineRestart}), now)
	if got := d.summary(); !strings.HasSuffix(got, ", the engine was started anew") {
		t.Error(got)
	}
	d.add(happening(event.Event{Kind: event.EngineRestart}), now)
	if got := d.summary(); !strings.HasSuffix(got, ", 2 restarts of the engine") || d.severity() != event.Error {
		t.Error(got)
	}
}

// digestEvent returns an event for a digest.
func digestEvent(kind event.Kind, severity event.Severity, what string) Happening {
	return Happening{event.Shown{Kind: kind, Severity: severity, Farm: what, Text: what + " in full"}, what}
}

// Receivers alert by severity, and operators read the subject first. Many earlier events must
// not understate either.
func TestFullMessageStillNamesFarms(t *testing.T) {
	var d digest
	now := time.Unix(1000, 0)
	for range mostLines {
		d.add(digestEvent(event.BackendDown, event.Warning, "b"), now)
	}
	for i, c := range []struct {
		add      Happening
		severity event.Severity
		summary  string
		last     string
	}{
		{digestEvent(event.BackendDown, event.Warning, "b"), event.Warning, "201 backends are down", "b in full"},
		{digestEvent(event.FarmStatus, event.Error, "shop"), event.Error, "shop, 201 backends are down", "shop in full"},
		{digestEvent(event.FarmStatus, event.Warning, "dns"), event.Error, "1 farm is critical or down, 1 farm has a problem, 201 backends are down", "dns in full"},
		{digestEvent(event.FarmStatus, event.Info, "shop"), event.Warning, "1 farm has a problem, 1 farm is well again, 201 backends are down", "shop in full"},
		{digestEvent(event.Certificate, event.Error, "c"), event.Error, "1 farm has a problem, 1 farm is well again, 201 backends are down, 1 certificate expires", "shop in full"},
		{digestEvent(event.BackendUp, event.Info, "b"), event.Error, "1 farm has a problem, 1 farm is well again, 201 backends are down, 1 backend is up again, 1 certificate expires", "shop in full"},
	} {
		d.add(c.add, now)
		if got := d.summary(); d.severity() != c.severity || got != c.summary {
			t.Errorf("%d: %s, %s", i, d.severity(), got)
		}
		lines := strings.Split(strings.TrimSpace(d.text()), "\n")
		more := lines[len(lines)-1]
		if len(lines) != mostLines+1 || !strings.HasSuffix(lines[mostLines-1], c.last) || i == 0 && more != "and 1 more" || i == 3 && more != "and 3 more" {
			t.Errorf("%d: %d lines, the last are %q", i, len(lines), lines[mostLines-1:])
		}
	}
	var farms digest
	for i := range mostLines {
		farms.add(digestEvent(event.FarmStatus, event.Info, strings.Repeat("x", i)), now)
	}
	farms.add(digestEvent(event.FarmStatus, event.Warning, "last"), now)
	farms.add(digestEvent(event.BackendDown, event.Warning, "b"), now)
	if got := farms.summary(); got != "200 farms are well again, 1 backend is down" || farms.severity() != event.Warning || farms.more != 2 {
		t.Errorf("%s, %s, %d more", farms.severity(), got, farms.more)
	}
}
