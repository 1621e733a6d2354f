package mgmt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// hearing creates a script in its own directory and returns its output.
func (h *house) hearing(t *testing.T, body string) (heard func() string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "hooks")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "on-any"), []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	h.scripts = scripts.New(scripts.Options{Folder: folder})
	h.Grace = time.Minute
	return func() string {
		b, _ := os.ReadFile(filepath.Join(folder, "heard"))
		return strings.Join(strings.Fields(string(b)), " ")
	}
}

func TestScriptsHearWhatTheApplianceDoes(t *testing.T) {
	var asks heard[ctl.FarmKeys]
	h := newHouse(t, ctl.Parts{ctl.OpInputDropped: asks.about})
	heard := h.hearing(t, `echo $1:$SLUICE_FARM:$SLUICE_BACKEND >> heard`)
	h.applier = apply.New(h.store, &applytest.Publisher{}, apply.WithRules(validate.Rules{}), apply.WithTold(h.changed))
	h.published = make(chan struct{})
	h.inForce() // of a replacement mgmt
	<-h.published
	h.published = make(chan struct{})
	t.Setenv(supervisor.FirstVariable, "1")
	h.inForce()
	h.give(t, carried()...)
	h.watch.look(t.Context(), h.manager)
	cfg, _ := h.applier.Current()
	h.health.SetPassive(cfg.Farms[0].Groups()[0].Backends()[1].ID, health.Down, time.Now())
	h.watch.look(t.Context(), h.manager)
	h.watch.look(t.Context(), h.manager)
	h.give(t, cfg.Farms[1])
	h.closeScripts(true)
	want := "appliance-start:: revision-applied:: farm-start:shop: farm-start:dns: backend-down:shop:127.0.0.1 revision-applied:: farm-stop:shop: appliance-stop::"
	if got := heard(); got != want {
		t.Errorf("got   %q\nwant  %q", got, want)
	}
}

func TestScriptsHaveTheTimeOfAnOrderlyStop(t *testing.T) {
	h := newHouse(t, nil)
	heard := h.hearing(t, "echo $1 >> heard; sleep 300")
	h.Grace = 50 * time.Millisecond
	h.closeScripts(false)
	if got := heard(); got != "" {
		t.Errorf("an end that is no stop: %s", got)
	}
	h.hearing(t, "sleep 300")
	h.Grace = 50 * time.Millisecond
	h.closeScripts(true) // returns
}

func TestAnUndoneChangeAndANewEngineAreTold(t *testing.T) {
	h := newHouse(t, nil)
	server, next := collector(t)
	h.system(t, func(s *farm.System) { s.Syslog.Servers = []farm.SyslogServer{server} })
	ended := func(outcome string) {
		h.undone(apply.Ended{Pending: apply.Pending{Revision: 7, By: apply.Author{Name: "ann"}}, Outcome: outcome, Reason: "not confirmed", At: time.Unix(1, 0)})
	}
	ended(apply.Confirmed)
	ended(apply.WentBack)
	if got := next("revision-"); !strings.Contains(got, "<28>") || !strings.Contains(got, `kind="revision-undone" severity="warning" revision="7" author="ann" comment="not confirmed"`) {
		t.Error(got)
	}
	ended(apply.TakenBack)
	if got := next("revision-undone"); !strings.Contains(got, "<29>") {
		t.Error(got)
	}
	first, second := time.Unix(10, 0), time.Unix(20, 0)
	for _, at := range []time.Time{{}, first, first, {}, first} { // neither the first one nor a missing one is reported
		h.watch.engineEvents(h.manager, at)
	}
	h.watch.engineEvents(h.manager, second)
	if got := next("engine-restart"); !strings.Contains(got, "1970-01-01T00:00:20") {
		t.Error(got)
	}
}
