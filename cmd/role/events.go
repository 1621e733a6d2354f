package role

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// statesMark is comparable: the status of farms and backends is the same while it is.
type statesMark struct {
	cfg       *farm.Config
	connected bool
	standing  apply.Standing
	moved     uint64
}

// lookStates keeps what changed since the last look. Warnings of farms in the kernel come
// along with the next change of anything.
func (m *manager) lookStates(cfg *farm.Config, now time.Time) {
	mark := statesMark{cfg, m.publisher.State().Connected, m.applier.Standing(),
		m.health.Version() + m.watch.moved.Load() + m.watch.silent.Moved() + m.guardian.Moved()}
	moment := sync.OnceValue(func() *state.Moment { return m.board().Now() }) // mostly nobody asks
	m.events.Add(m.states.Look(cfg, mark, now, eventlog.Known{
		Backend: func(g farm.Group, k int) farm.Status { return farmstate.In(g, k, m.backendHealth) },
		Why:     m.whyDown,
		Since:   func(backend uint32) time.Time { return m.health.Slot(backend).Since() },
		Farm:    func(f *farm.Farm) (farm.Status, string) { return moment().Look(f) },
	})...)
}

// started is the event of a start: of everything, or of mgmt alone.
func started(first bool) eventlog.Event {
	if first {
		return eventlog.Event{Kind: eventlog.Appliance, Severity: eventlog.Info, Text: "the appliance was started"}
	}
	return eventlog.Event{Kind: eventlog.Appliance, Severity: eventlog.Warning, Text: "the management process was started anew; traffic went on"}
}

// engineDocument names the engine that was seen last: mgmt may have been away when
// another took its place.
const engineDocument = "events.engine"

// seenEngine is one, by what no two have alike.
type seenEngine struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// engineSeen keeps that another engine is there than the one before. The one of a start
// of everything is told of as such.
func (m *manager) engineSeen(h link.Hello) {
	is := seenEngine{h.PID, h.Started.UTC().Round(0)}
	if h.PID == 0 || m.engine.same(is) {
		return
	}
	was := m.engine
	m.engine = is
	if was.PID == 0 { // the first one this process sees
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

// same reports whether two are one.
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

// certificateChanged keeps what became of a certificate, and whose it is.
func (m *manager) certificateChanged(c certs.Change) {
	cfg, _ := m.applier.Current()
	e := eventlog.Event{Kind: eventlog.Certificate, Severity: eventlog.Info, Text: "certificate " + c.Name + " was " + c.What, Detail: "by " + c.By.Name}
	if !c.NotAfter.IsZero() {
		e.Text += ", good until " + c.NotAfter.UTC().Format(time.DateOnly)
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if len(certs.CertificateUsers(&farm.Config{Farms: []farm.Farm{*f}}, c.Name)) > 0 {
			e.Farms, e.Farm = append(e.Farms, f.ID), f.Name
		}
	}
	if len(e.Farms) > 1 {
		e.Farm = ""
	}
	m.events.Add(e)
}

// confirmed keeps that a pending change was. One that goes back is a revision.
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
