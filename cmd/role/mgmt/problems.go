package mgmt

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/eventlog"
)

// leastRoom is the minimum free space in bytes on the disk of the data directory, for
// revisions, logs and time series.
const leastRoom = 32 << 20

// problems returns the problems of the appliance itself.
func (m *manager) problems() (out []string) {
	for _, d := range m.store.Damages() {
		out = append(out, d.String())
	}
	// An appliance restarted without --config has no rejected file.
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

// repaired adds to the timeline that the store was damaged at the start of this process.
func (m *manager) repaired() {
	if d := m.store.Repaired(); d != nil {
		m.events.Add(eventlog.Event{Time: d.Time, Kind: eventlog.Appliance, Severity: eventlog.Error, Text: d.String()})
	}
}
