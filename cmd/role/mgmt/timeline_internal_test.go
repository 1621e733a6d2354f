package mgmt

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// happened returns the recorded events, one per line.
func (h *house) happened(t *testing.T) string {
	t.Helper()
	list, err := h.events.Read(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSpace(string(e.Kind)+" "+e.Farm+" "+e.Backend+" "+e.Text+" "+e.Detail))
	}
	return strings.Join(out, "\n")
}

func TestAnotherEngineIsAnEvent(t *testing.T) {
	t.Setenv(supervisor.FirstVariable, "")
	h := newHouse(t, ctl.Parts{})
	at := time.Now()
	h.engineSeen(link.Hello{})
	h.engineSeen(link.Hello{PID: 7, Started: at}) // no engine was seen before
	h.engineSeen(link.Hello{PID: 7, Started: at})
	if got := h.happened(t); got != "" {
		t.Errorf("the first engine: %s", got)
	}
	h.engineSeen(link.Hello{PID: 8, Started: at})
	if got := h.happened(t); !strings.HasPrefix(got, "engine   the engine was started anew (process 8 after 7)") {
		t.Errorf("the second: %s", got)
	}
	again := &house{manager: &manager{Process: h.Process, store: h.manager.store, events: h.events}}
	again.engineSeen(link.Hello{PID: 8, Started: at})
	if got := h.happened(t); strings.Contains(got, "\n") {
		t.Errorf("a repeated event after a restart of mgmt: %s", got)
	}
	again.manager.engine = seenEngine{}
	again.engineSeen(link.Hello{PID: 8, Started: at.Add(time.Minute)}) // the PID was reused
	if got := h.happened(t); strings.Count(got, "started anew") != 2 {
		t.Errorf("another one meanwhile: %s", got)
	}
	t.Setenv(supervisor.FirstVariable, "1")
	again.manager.engine = seenEngine{}
	again.engineSeen(link.Hello{PID: 9, Started: at})
	if got := h.happened(t); strings.Count(got, "started anew") != 2 {
		t.Errorf("a start of everything: %s", got)
	}
}

func TestCertificateChangesAreEventsOfTheirFarms(t *testing.T) {
	h := newHouse(t, ctl.Parts{})
	h.certs = certs.NewManager(h.certs.Book, h.applier)
	h.certs.Told = h.certificateChanged
	ca := certstest.NewAuthority(t, "vendor", time.Now())
	by := apply.Author{Name: "ann"}
	for _, mode := range []certs.Mode{certs.Create, certs.Replace} {
		if _, _, err := h.certs.Upload(t.Context(), by, "www", []byte(ca.Issue("www.example.com").FullPEM()), mode); err != nil {
			t.Fatal(err)
		}
		if mode == certs.Create {
			f := carried()[0]
			f.Name, f.HTTP.TLS = "shop", &farm.TLS{Certificates: []string{"www.pem"}}
			h.give(t, f)
		}
	}
	h.give(t)
	if err := h.certs.Delete(t.Context(), by, "www.pem"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(h.happened(t), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "certificate   certificate www.pem was uploaded, good until ") || !strings.HasPrefix(lines[1], "certificate shop  certificate www.pem was replaced") || lines[2] != "certificate   certificate www.pem was deleted by ann" {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

func TestOnlyAConfirmationIsAnEvent(t *testing.T) {
	h := newHouse(t, ctl.Parts{})
	f := carried()[0]
	f.Name = "shop"
	h.give(t, f)
	p := apply.Pending{Revision: 7, Farms: []string{"shop", "gone"}}
	h.confirmed(apply.Ended{Pending: p, Outcome: apply.WentBack})
	h.confirmed(apply.Ended{Pending: p, Outcome: apply.Confirmed, Reason: "p99 12ms", Author: apply.Author{Name: "bob"}})
	if got := h.happened(t); got != "confirmation shop  revision 7 was confirmed by bob: p99 12ms" {
		t.Errorf("%s", got)
	}
}

func TestALookKeepsWhatChanged(t *testing.T) {
	h := newHouse(t, ctl.Parts{})
	f := carried()[0]
	f.Name = "shop"
	h.give(t, f)
	cfg, _ := h.applier.Current()
	h.lookStates(cfg, h.statesMark(), time.Now())
	id := cfg.Farms[0].HTTP.Services[0].Backends[0].ID
	h.manager.health.SetPassive(id, health.Down, time.Now())
	h.lookStates(cfg, h.statesMark(), time.Now())
	if got := h.happened(t); !strings.HasPrefix(got, "health shop 0 (127.0.0.1:8081) is down") {
		t.Errorf("%s", got)
	}
}

// A restart must not report statuses again because one write failed.
func TestStatusesOfFarmsAreWrittenAgainAfterAFailure(t *testing.T) {
	h := newHouse(t, ctl.Parts{})
	f := carried()[0]
	f.Name = "shop"
	h.give(t, f)
	cfg, _ := h.applier.Current()
	now, version, status := time.Now(), uint64(0), farm.StatusUp
	look := func(after time.Duration) {
		now = now.Add(after)
		version++
		h.watch.farms.Look(cfg, version, event.Known{
			Farm: func(*farm.Farm) (farm.Status, string) { return status, "" },
		}, now)
		h.watch.keepFarms(h.manager, now)
	}
	look(0)
	kept := func() farm.Status { return h.earlierFarms()[cfg.Farms[0].ID] }
	if kept() != farm.StatusUp {
		t.Fatalf("kept: %q", kept())
	}
	good := h.manager.store
	bad, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bad.Close()
	h.manager.store, status = bad, farm.StatusProblem
	look(time.Second)
	look(time.Second)
	look(keepFarmsRetry)
	h.manager.store = good
	look(time.Second)
	if kept() != farm.StatusUp {
		t.Error("it is retried with every look")
	}
	look(keepFarmsRetry)
	if kept() != farm.StatusProblem {
		t.Errorf("kept after a retry: %q", kept())
	}
	status = farm.StatusUp
	if look(time.Millisecond); kept() != farm.StatusUp {
		t.Errorf("kept after a change: %q", kept())
	}
	if n := len(h.log.Lines("statuses of farms are not kept")); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &h.log)
	}
}
