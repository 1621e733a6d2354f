package mgmt

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/timeline"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/notify"
	axis "github.com/sluicelb/sluice/mgmt/timeline"
)

// timelineResource makes the resource of the timeline.
func (m *manager) timelineResource() api.Resource {
	sources := axis.Sources{Events: m.events, Revisions: m.store, Numbers: m.numbers}
	return timeline.New(timeline.Deps{Sources: sources, Now: time.Now})
}

// statesMark is comparable. While it is unchanged, the states of farms and backends are, too,
// except for farms that the configuration changed.
type statesMark struct {
	connected bool
	standing  apply.Standing
	moved     uint64
}

func (m *manager) statesMark() statesMark {
	return statesMark{m.publisher.State().Connected, m.applier.Standing(),
		m.statesMoved() + m.kernel.state.moved.Load()}
}

// statesMoved grows with each change of the state of a backend, or of a farm that the kernel
// does not carry.
func (m *manager) statesMoved() uint64 {
	return m.health.Version() + m.watch.moved.Load() + m.watch.silent.Moved() + m.guardian.Moved()
}

// lookStates records changes since the previous look.
func (m *manager) lookStates(cfg *farm.Config, mark statesMark, now time.Time) {
	moment := sync.OnceValue(func() *state.Moment { return m.board().Now(nil) }) // usually not needed
	m.events.Add(m.states.Look(cfg, mark, now, eventlog.Known{
		Backend: func(g farm.Group, k int) farm.Status { return farmstate.In(g, k, m.backendHealth) },
		Awaits: func(g farm.Group, k int) bool {
			return farmstate.Awaits(m.guardian.Awaits).Of(g, k, m.backendHealth)
		},
		Why:   m.whyDown,
		Since: m.healthSince,
		Farm:  func(f *farm.Farm) (farm.Status, string) { return moment().Look(f) },
	})...)
}

// known returns the sources of backend and farm states for notifications.
func (m *manager) known() notify.Known {
	moment := sync.OnceValue(func() *state.Moment { return m.board().Now(nil) })
	return notify.Known{
		Known: event.Known{Health: m.backendHealth, Awaits: m.guardian.Awaits, Why: m.whyDown,
			Farm: func(f *farm.Farm) (farm.Status, string) { return moment().Look(f) }},
		Since: m.healthSince,
	}
}

// isInForce reports whether an engine has run the stored configuration. Before that, states
// of farms are unknown and no events occur.
func (m *manager) isInForce() bool {
	select {
	case <-m.published:
		return true
	default:
		return m.published == nil // there is no publisher
	}
}

// farmsDocument stores the reported statuses of farms: one that is down after a restart, and was
// not before, is reported.
const farmsDocument = "events.farms"

// earlierFarms returns the statuses before the restart, by the ID of the farm.
func (m *manager) earlierFarms() (status map[uint32]farm.Status) {
	if _, err := m.store.ReadDocument(farmsDocument, &status); err != nil {
		slog.Warn("the statuses of farms before the restart are not known", "error", err)
	}
	return status
}

// keepFarmsRetry is the pause after statuses of farms could not be written.
const keepFarmsRetry = 10 * time.Second

// keepFarms writes the reported statuses if they changed. A failed write is retried, and
// logged once.
func (w *watch) keepFarms(m *manager, now time.Time) {
	list, changes := w.farms.Reported()
	if since := now.Sub(w.keptAt); changes == w.kept || w.unkept && since >= 0 && since < keepFarmsRetry {
		return
	}
	w.keptAt = now
	err := m.store.WriteDocument(farmsDocument, list)
	switch {
	case err == nil:
		w.kept = changes
	case !w.unkept:
		slog.Warn("statuses of farms are not kept: a restart may report them again", "error", err)
	}
	w.unkept = err != nil
}

// noted adds events to the timeline that are not recorded elsewhere.
func (m *manager) noted(e event.Event) {
	kind := eventlog.Limit
	switch e.Kind {
	case event.LimitReached, event.LimitOver:
	case event.RenewalFailed, event.Certificate, event.Activation, event.ZoneKey:
		kind = eventlog.Certificate
	case event.ListUpdated:
		kind = eventlog.List
	default:
		return
	}
	out := eventlog.Event{Time: e.At, Kind: kind, Severity: eventlog.Severity(e.Severity), Service: e.Fact("SERVICE"), Text: e.Text()}
	cfg, _ := m.applier.Current()
	if f := cfg.Farm(e.Fact("FARM")); f != nil {
		out.Farms, out.Farm, out.Backend = []uint32{f.ID}, f.Name, e.Shown().Backend
	}
	if name := e.Fact("CERTIFICATE"); name != "" {
		out.Farms, out.Farm = farmsOf(cfg, name)
	}
	if e.Kind == event.ListUpdated {
		out.Farms, out.Farm = byPlace(cfg)
	}
	m.events.Add(out)
}

// farmsOf returns the farms that use a certificate, and the name if there is a single one.
func farmsOf(cfg *farm.Config, certificate string) (ids []uint32, name string) {
	return farmsThat(cfg, func(f *farm.Farm) bool {
		return len(certs.CertificateUsers(&farm.Config{Farms: []farm.Farm{*f}}, certificate)) > 0
	})
}

// byPlace returns the farms that use client locations, and the name if there is a single
// one.
func byPlace(cfg *farm.Config) (ids []uint32, name string) {
	return farmsThat(cfg, func(f *farm.Farm) bool { return f.ChoosesByPlace(false) != nil || f.ChoosesByPlace(true) != nil })
}

func farmsThat(cfg *farm.Config, do func(*farm.Farm) bool) (ids []uint32, name string) {
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; do(f) {
			ids, name = append(ids, f.ID), f.Name
		}
	}
	if len(ids) > 1 {
		name = ""
	}
	return ids, name
}

// started returns the event of a start, of the appliance or of mgmt alone.
func started(first bool) eventlog.Event {
	if first {
		return eventlog.Event{Kind: eventlog.Appliance, Severity: eventlog.Info, Text: "the appliance was started"}
	}
	return eventlog.Event{Kind: eventlog.Appliance, Severity: eventlog.Warning, Text: "the management process was started anew; traffic went on"}
}

// engineDocument identifies the last engine seen, because it may be replaced while mgmt is
// down.
const engineDocument = "events.engine"

// seenEngine identifies an engine.
type seenEngine struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// engineSeen records that the engine was replaced. The first engine of an appliance start is
// not recorded, because that start is an event itself.
func (m *manager) engineSeen(h link.Hello) {
	is := seenEngine{h.PID, h.Started.UTC().Round(0)}
	if h.PID == 0 || m.engine.same(is) {
		return
	}
	was := m.engine
	m.engine = is
	if was.PID == 0 { // the first one seen by this process
		found, err := m.store.ReadDocument(engineDocument, &was)
		if err != nil {
			slog.Warn("the engine that ran before is not known", "error", err)
		}
		if !found || was.same(is) || os.Getenv(supervisor.FirstVariable) != "" {
			m.keepEngine(found && was.same(is))
			return
		}
	}
	m.keepEngine(false)
	m.events.Add(eventlog.Event{Kind: eventlog.Engine, Severity: eventlog.Warning, Time: is.Started,
		Text: fmt.Sprintf("the engine was started anew (process %d after %d): connections of the one before ended with it", is.PID, was.PID)})
}

// same reports whether both are the same engine.
func (e seenEngine) same(other seenEngine) bool {
	return e.PID == other.PID && e.Started.Equal(other.Started)
}

func (m *manager) keepEngine(kept bool) {
	if kept {
		return
	}
	if err := m.store.WriteDocument(engineDocument, m.engine); err != nil {
		slog.Warn("which engine runs is not kept: its start may be told twice", "error", err)
	}
}

// confirmed records the confirmation of a pending change. A revert is a revision of its own.
func (m *manager) confirmed(p apply.Ended) {
	if p.Outcome != apply.Confirmed {
		return
	}
	cfg, _ := m.applier.Current()
	e := eventlog.Event{Time: p.At, Kind: eventlog.Confirmed, Severity: eventlog.Info, Revision: p.Revision, Text: fmt.Sprintf("revision %d was confirmed", p.Revision), Detail: "by " + p.Author.Name}
	if p.Reason != "" {
		e.Detail += ": " + p.Reason
	}
	for _, name := range p.Farms {
		if f := cfg.Farm(name); f != nil {
			e.Farms, e.Farm = append(e.Farms, f.ID), name
		}
	}
	if len(e.Farms) > 1 {
		e.Farm = ""
	}
	m.events.Add(e)
}
