package mgmt

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/trim"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/headroom/learner"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/syslog"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// openStores opens the files in the data directory. The store is first, because most others
// keep their settings in it.
func (m *manager) openStores() (err error) {
	m.startUp = trim.While(os.Stat(store.FileName)) // until its configuration is in force, if that is soon
	if m.store, err = store.Open("."); err != nil {
		return err
	}
	m.onClose(func() { _ = m.store.Close() })
	if d := m.store.Repaired(); d != nil {
		slog.Error("the store was damaged", "problem", d.String())
	}
	m.rejected.load(m.store)
	supervisor.SetLogLevel(system.LogLevel(m.store))
	if err = m.openRecords(); err != nil {
		return err
	}
	if m.book, err = m.openCertificates(); err != nil {
		return err
	}
	if err = m.openPeople(); err != nil {
		return err
	}
	if m.geoip, err = geoip.Open(".", m.placesChanged); err != nil {
		slog.Warn("no places of addresses are known", "reason", err)
	}
	return nil
}

// openRecords opens the records of changes, events and measurements.
func (m *manager) openRecords() (err error) {
	if m.audit, err = audit.Open(".", slog.Default(), time.Now); err != nil {
		return err
	}
	m.onClose(func() { _ = m.audit.Close() })
	m.audit.Told = func(e audit.Entry) {
		if m.remote.Active() {
			m.remote.Send(syslog.Audited(e))
		}
	}
	if m.numbers, err = timeseries.Open(numbersFolder, slog.Default()); err != nil {
		return err
	}
	m.onClose(m.numbers.Close)
	m.events = eventlog.Open(".", slog.Default(), time.Now)
	m.onClose(m.events.Close)
	m.headroom = learner.Open(learner.Options{Dir: ".", Counters: m.counters, Log: slog.Default(), Config: m.current})
	return nil
}

// unusable handles unusable data. While nothing runs yet it ends the instance, because a
// restart would only repeat the error. Later the engine has farms to serve, and mgmt retries
// until the data is repaired.
func unusable(err error) error {
	if here, cause := os.Getwd(); cause == nil {
		err = disk.Explain(here, err)
	}
	if os.Getenv(supervisor.FirstVariable) == "" || errors.Is(err, store.ErrLocked) {
		return err
	}
	slog.Error("the data directory cannot be used", "error", err)
	return process.ErrFinal
}
