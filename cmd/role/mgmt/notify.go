package mgmt

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/keyroll"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/store"
)

// tell sends an event through all methods selected for it and adds it to the timeline.
func (m *manager) tell(e event.Event) {
	n := m.notify
	if n == nil || n.ToSyslog(e) { // early in the start all methods get all events
		m.toSyslog(e)
	}
	if n == nil || n.ToScripts(e) {
		m.scripts.Tell(e)
	}
	if n != nil {
		n.Hear(e)
	}
	m.noted(e)
}

// changed notifies scripts, the timeline, the guardian and secondaries of a change.
func (m *manager) changed(old, now *farm.Config, rev store.Revision) {
	for _, e := range event.Changed(old, now, rev, time.Now()) {
		m.tell(e)
	}
	m.events.Add(eventlog.Changed(old, now, rev)...)
	m.guardian.Set(now)
	m.lookFarms() // a farm may have been stopped
	m.secondaries.Changed(old, now)
}

// inForce is called once the stored configuration is in force for the first time. Only the
// first mgmt of an instance reports the start of the appliance, not a replacement.
func (m *manager) inForce() {
	close(m.published)
	first := os.Getenv(supervisor.FirstVariable) != ""
	m.events.Add(started(first))
	m.repaired()
	if first {
		m.tell(event.Event{Kind: event.ApplianceStart, Severity: event.Info})
	}
}

// closeScripts notifies scripts of the end of the appliance, if it stops, and gives them the
// time of an orderly stop.
func (m *manager) closeScripts(stops bool) {
	if stops {
		m.tell(event.Event{Kind: event.ApplianceStop, Severity: event.Info})
	}
	limit, cancel := context.WithTimeout(context.Background(), m.Grace)
	defer cancel()
	m.scripts.Close(limit)
}

// undone reports a pending change that is no longer in force.
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

// notRenewed reports a due certificate that could not be renewed.
func (m *manager) notRenewed(f acme.Failure) {
	severity := event.Warning
	if f.Soon {
		severity = event.Error
	}
	m.tell(event.Event{Kind: event.RenewalFailed, Severity: severity, At: time.Now(),
		Facts: event.Facts("CERTIFICATE", f.Name, "NOT_AFTER", f.NotAfter.UTC().Format(time.RFC3339), "REASON", f.Reason)})
}

// placesChanged sends a changed or removed GeoIP database to the engine and reports it.
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

// keyReplaced reports a zone key that signs, or will be next.
func (m *manager) keyReplaced(n keyroll.Notice) {
	severity := event.Warning
	if n.Signs {
		severity = event.Info
	}
	m.tell(event.Event{Kind: event.ZoneKey, Severity: severity, At: time.Now(),
		Facts: event.Facts("FARM", n.Farm, "ZONE", n.Zone, "KEY", strconv.Itoa(int(n.Key)), "DS", n.DS)})
}

// engineEvents reports an engine that was replaced since the previous look. The first one
// after the start of mgmt is not reported.
func (w *watch) engineEvents(m *manager, started time.Time) {
	if started.IsZero() { // there is no engine
		return
	}
	if !w.engine.IsZero() && !started.Equal(w.engine) {
		m.tell(event.Event{Kind: event.EngineRestart, Severity: event.Warning, At: started})
	}
	w.engine = started
}

// engineStarted returns the start time of the engine, or zero without one.
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

// notifier returns the sender of mails and webhooks.
func (m *manager) notifier(book *certs.Book) *notify.Manager {
	return notify.New(notify.Options{Store: m.store, Secrets: book, Authorities: m.authorities, Proxy: m.proxy, Tell: m.tell, Log: slog.Default()})
}

// whyDown returns why a backend is down or its checks cannot run, if known.
func (m *manager) whyDown(backend uint32) string {
	if e, is := m.health.Slot(backend).Ejection(); is && time.Now().Before(e.Until) {
		return "is ejected: " + e.Why()
	}
	if why := m.guardian.Why(backend); why != "" {
		return why
	}
	return m.watch.silent.Problem(backend)
}
