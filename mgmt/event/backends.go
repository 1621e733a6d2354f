package event

import (
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Backends finds out whose health changed. The zero value has looked at nothing.
type Backends struct {
	cfg     *farm.Config
	version uint64
	down    map[uint32]bool
}

// Look returns what changed since the last look; the first one only remembers. The
// version is that of the health table, status what it says: a look at what is the
// same costs nothing.
func (b *Backends) Look(cfg *farm.Config, version uint64, status func(backend uint32) farm.Status, at time.Time) []Event {
	if cfg == b.cfg && version == b.version {
		return nil
	}
	before := b.down
	b.cfg, b.version, b.down = cfg, version, map[uint32]bool{}
	var events []Event
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		for _, g := range f.Groups() {
			for k := range g.Backends() {
				one := &g.Backends()[k]
				is := status(one.ID) == farm.StatusDown
				was, known := before[one.ID]
				b.down[one.ID] = is
				if is == was || before == nil || !known && !is {
					continue
				}
				kind, severity := BackendUp, Info
				if is {
					kind, severity = BackendDown, Warning
				}
				events = append(events, Event{kind, severity, at, append(farmFacts(f), backendFacts(g, one, is)...)})
			}
		}
	}
	return events
}

func backendFacts(g farm.Group, b *farm.Backend, down bool) []string {
	status := farm.StatusUp
	if down {
		status = farm.StatusDown
	}
	host := b.Host
	if host == "" {
		host = b.Addr.String()
	}
	return []string{fact("SERVICE", g.Name()), fact("BACKEND", host), fact("BACKEND_IP", address(b)), fact("BACKEND_PORT", strconv.Itoa(int(b.Port))), fact("STATUS", status)}
}

// address is where a backend is, empty while its name leads nowhere.
func address(b *farm.Backend) string {
	if !b.Addr.IsValid() {
		return ""
	}
	return b.Addr.String()
}
