package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// looks looks for long enough that every state is reported.
func (h *house) looks(t *testing.T, l *looked) (subject string) {
	t.Helper()
	before := len(h.took(t))
	for range 60 {
		h.look(tick, l)
	}
	var out []string
	for _, m := range h.took(t)[before:] {
		out = append(out, m.Subject)
	}
	return strings.Join(out, "; ")
}

func TestRecoveryIsMailedWithTheFirstResult(t *testing.T) {
	h, l := newHouse(t), oddly(1)
	l.awaited = map[uint32]bool{}
	h.set(t)
	h.looks(t, l)
	for _, step := range []struct {
		is      farm.Status
		awaited bool
		want    string
	}{
		{farm.StatusDown, false, "is down"},
		{farm.StatusUndefined, true, ""},
		{farm.StatusDown, false, ""},
		{farm.StatusUndefined, true, ""},
		{farm.StatusUp, false, "is up again"},
	} {
		l.awaited[1] = step.awaited
		l.is(step.is, 1)
		if got := h.looks(t, l); (got == "") != (step.want == "") || !strings.HasSuffix(got, step.want) {
			t.Errorf("%+v: %q", step, got)
		}
	}
}

func TestUnknownEarlierHealthWaitsForAResult(t *testing.T) {
	h, l := newHouse(t), oddly(1, 2)
	h.set(t)
	h.Resume(farmstate.Earlier{1: farm.StatusUndefined, 2: farm.StatusUndefined})
	l.awaited = map[uint32]bool{1: true}
	if got := h.looks(t, l); got != "" {
		t.Errorf("at first: got %s, want \"\"", got)
	}
	l.awaited[1] = false
	l.is(farm.StatusDown, 1, 2)
	if got := h.looks(t, l); !strings.HasSuffix(got, "backend 1 (10.0.0.1:8002) of service web of farm shop is down") {
		t.Errorf("down: %s", got)
	}
	l.is(farm.StatusUp, 1)
	if got := h.looks(t, l); !strings.HasSuffix(got, "backend 0 (10.0.0.1:8001) of service web of farm shop is up again") {
		t.Errorf("up: %s", got)
	}
}

func TestFarmsThatChangedDuringARestartAreMailed(t *testing.T) {
	h, l := newHouse(t), shop(1)
	h.set(t)
	restart := func() {
		h.Close()
		h.Manager = h.manager()
		h.Resume(farmstate.Earlier{1: farm.StatusUp})
	}
	l.is(farm.StatusUp, 1)
	for _, step := range []struct {
		status farm.Status
		want   string
	}{
		{farm.StatusUp, ""},
		{farm.StatusDown, "farm shop is down"},
		{farm.StatusDown, ""},
		{farm.StatusUp, "farm shop is up again"},
		{farm.StatusUp, ""},
	} {
		restart()
		l.farm = step.status
		if got := h.looks(t, l); (got == "") != (step.want == "") || !strings.HasSuffix(got, step.want) {
			t.Errorf("%+v: %q", step, got)
		}
	}
	// A state that did not last long enough before the restart is reported after it.
	l.farm = farm.StatusDown
	l.version++
	h.look(tick, l)
	restart()
	if got := h.looks(t, l); !strings.HasSuffix(got, "farm shop is down") {
		t.Errorf("shortly before a restart: %q", got)
	}
	for status, want := range map[farm.Status]string{farm.StatusDown: "farm shop is down", farm.StatusProblem: ""} {
		h.papers.docs = map[string]string{}
		restart()
		h.set(t)
		l.farm = status
		if got := h.looks(t, l); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s after an unknown status: %q", status, got)
		}
	}
}

func TestAnUnreadableRecordOfFarmsIsLogged(t *testing.T) {
	h, l := newHouse(t), shop(1)
	h.set(t)
	h.papers.docs[toldFarms] = "{"
	h.Resume(nil)
	h.look(time.Minute, l)
	if !h.log.Has("which statuses of farms were reported is not known") {
		t.Errorf("log: %s", &h.log)
	}
}
