package role

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/eventlog"
)

// problems are those of the appliance itself.
func (m *manager) problems() (out []string) {
	for _, d := range m.store.Damages() {
		out = append(out, d.String())
	}
	if text := m.rejected.problem(); text != "" {
		out = append(out, text)
	}
	if m.logs != nil {
		out = append(out, m.logs.Problems(time.Now())...)
	}
	return out
}

// repaired keeps in the timeline that the store was damaged when this process started.
func (m *manager) repaired() {
	if d := m.store.Repaired(); d != nil {
		m.events.Add(eventlog.Event{Time: d.Time, Kind: eventlog.Appliance, Severity: eventlog.Error, Text: d.String()})
	}
}
