package engine

import (
	"log/slog"
	"os"
	"strings"

	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/shm"
)

// takePlaces makes the name server use the GeoIP table of a publication, if it has one. If
// the table cannot be read, the current one stays in use.
func (e *engine) takePlaces(opened map[string][]*os.File) {
	for key, files := range opened {
		if !strings.HasPrefix(key, geoip.Prefix) {
			continue
		}
		m, err := shm.MapSealed(files[0])
		if err == nil {
			var table *geoip.Table
			if table, err = geoip.Map(m); err == nil {
				e.zones.UsePlaces(table)
			}
		}
		if err != nil {
			slog.Warn("GeoIP table refused, the one in use stays", "cause", err)
		}
	}
}

// holds returns the names of objects that need not be sent again.
func (e *engine) holds() []string {
	list := e.set.Listeners()
	if t := e.zones.Places(); t != nil {
		list = append(list, t.Key())
	}
	return list
}
