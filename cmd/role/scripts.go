package role

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/keyroll"
	"github.com/sluicelb/sluice/mgmt/store"
)

// changed tells scripts of a change, the timeline, who asks backends, and who copies
// zones.
func (m *manager) changed(old, now *farm.Config, rev store.Revision) {
	for _, e := range event.Changed(old, now, rev, time.Now()) {
		m.tell(e)
	}
	m.events.Add(eventlog.Changed(old, now, rev)...)
	m.guardian.Set(now)
	m.lookFarms() // one may have been stopped
	m.secondaries.Changed(old, now)
}

// inForce is called once the stored configuration is in force for the first time.
// That the appliance starts is told by the first mgmt there is, not by one that
// takes the place of another.
func (m *manager) inForce() {
	close(m.published)
	first := os.Getenv(supervisor.FirstVariable) != ""
	m.events.Add(started(first))
	m.repaired()
	if first {
		m.tell(event.Event{Kind: event.ApplianceStart, Severity: event.Info})
	}
}

// closeScripts tells scripts that the appliance stops, if it does, and gives them
// the time an orderly stop has.
func (m *manager) closeScripts(stops bool) {
	if stops {
		m.tell(event.Event{Kind: event.ApplianceStop, Severity: event.Info})
	}
	limit, cancel := context.WithTimeout(context.Background(), m.grace)
	defer cancel()
	m.scripts.Close(limit)
}

// undone tells of a pending change that is no more in force.
func (m *manager) undone(e apply.Ended) {
	severity := event.Info
	switch e.Outcome {
	case apply.WentBack:
		severity = event.Warning
	case apply.TakenBack:
	default:
		return
	}
	m.tell(event.Event{Kind: event.RevisionUndone, Severity: severity, At: e.At,
		Facts: event.Facts("REVISION", strconv.FormatUint(e.Revision, 10), "AUTHOR", e.By.Name, "COMMENT", e.Reason)})
}

// notRenewed tells of a certificate that was due and could not be renewed.
func (m *manager) notRenewed(f acme.Failure) {
	severity := event.Warning
	if f.Soon {
		severity = event.Error
	}
	m.tell(event.Event{Kind: event.RenewalFailed, Severity: severity, At: time.Now(),
		Facts: event.Facts("CERTIFICATE", f.Name, "NOT_AFTER", f.NotAfter.UTC().Format(time.RFC3339), "REASON", f.Reason)})
}

// placesChanged has the engine know another GeoIP database, or none any more, and tells
// of it.
func (m *manager) placesChanged() {
	m.republish()
	version := ""
	if info, err := m.geoip.Info(); err == nil {
		if version = info.Kind; !info.Built.IsZero() {
			version += " of " + info.Built.Format(time.DateOnly)
		}
	}
	m.tell(event.Event{Kind: event.ListUpdated, Severity: event.Info, At: time.Now(),
		Facts: event.Facts("LIST", "GeoIP database", "VERSION", version)})
}

// keyReplaced tells of a key of a zone that is to sign next, or does.
func (m *manager) keyReplaced(n keyroll.Notice) {
	severity := event.Warning
	if n.Signs {
		severity = event.Info
	}
	m.tell(event.Event{Kind: event.ZoneKey, Severity: severity, At: time.Now(),
		Facts: event.Facts("FARM", n.Farm, "ZONE", n.Zone, "KEY", strconv.Itoa(int(n.Key)), "DS", n.DS)})
}

// engineEvents tells of an engine that is another than at the last look: since the
// start of mgmt, for which the first one is no news.
func (w *watch) engineEvents(m *manager, started time.Time) {
	if started.IsZero() { // none is there
		return
	}
	if !w.engine.IsZero() && !started.Equal(w.engine) {
		m.tell(event.Event{Kind: event.EngineRestart, Severity: event.Warning, At: started})
	}
	w.engine = started
}

// engineStarted is since when the engine runs, zero while none is there.
func (m *manager) engineStarted() time.Time {
	if m.publisher == nil {
		return time.Time{}
	}
	s := m.publisher.State()
	if !s.Connected {
		return time.Time{}
	}
	return s.Hello.Started
}
