package role

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
)

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

// byPlace are the farms that choose by where clients are, and the name of a single one.
func byPlace(cfg *farm.Config) (ids []uint32, name string) {
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; f.ChoosesByPlace(false) != nil || f.ChoosesByPlace(true) != nil {
			ids, name = append(ids, f.ID), f.Name
		}
	}
	if len(ids) > 1 {
		name = ""
	}
	return ids, name
}
