package role

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/eventlog"
)

// leastRoom is how much room the disk of the data directory has left at least, in bytes, for
// revisions, logs and numbers.
const leastRoom = 32 << 20

// problems are those of the appliance itself.
func (m *manager) problems() (out []string) {
	for _, d := range m.store.Damages() {
		out = append(out, d.String())
	}
	// An appliance that was started again without --config has no file to be rejected.
	if text := m.rejected.problem(); text != "" && m.configFile() != "" {
		out = append(out, text)
	}
	if err := disk.Room(".", leastRoom); err != nil {
		out = append(out, "the data directory has hardly any room left: "+err.Error())
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
