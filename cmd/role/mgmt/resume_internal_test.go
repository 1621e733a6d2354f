package mgmt

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// A farm that is down at the first look is reported if it was not before. A backend whose name
// had no address was down before the restart.
func TestStatesAreComparedWithThoseBeforeTheRestart(t *testing.T) {
	h := newHouse(t, ctl.Parts{})
	said := h.hearing(t, `echo $1:$SLUICE_FARM:$SLUICE_BACKEND >> heard`)
	h.give(t, carried()[0])
	cfg, _ := h.applier.Current()
	restart := func() {
		h.watch, h.states = watch{}, eventlog.States{}
		h.resumeHealth(cfg)
	}
	now := time.Now()
	look := func() { now = now.Add(time.Second); h.watch.lookHealth(h.manager, now) }
	h.published = make(chan struct{})
	restart()
	look() // the status of farms has no meaning yet
	if got := h.happened(t); got != "" {
		t.Errorf("before the configuration is in force: %s", got)
	}
	close(h.published)
	look() // no engine serves the farm
	const once = "health shop  the farm is down: "
	if got := h.happened(t); !strings.HasPrefix(got, once) || strings.Contains(got, "\n") {
		t.Errorf("at first: %s", got)
	}
	restart()
	look()
	if got := h.happened(t); strings.Contains(got, "\n") {
		t.Errorf("after a restart: %s", got)
	}
	h.closeScripts(false)
	if got := said(); got != "farm-status:shop:" {
		t.Errorf("scripts: %s", got)
	}
	named := func(addr netip.Addr) *farm.Config {
		next := cfg.Clone()
		b := &next.Farms[0].HTTP.Services[0].Backends[1]
		b.Host, b.Addr = "db.test", addr
		return next
	}
	cfg = named(netip.Addr{})
	restart()
	list := h.watch.health.Look(named(netip.MustParseAddr("127.0.0.1")), 1, h.known().Known, now)
	if len(list) != 1 || list[0].Kind != event.BackendUp {
		t.Errorf("a name that has an address now: %+v", list)
	}
}
