package table

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// Table is one compiled generation. Once it is in use it is immutable, and read by
// all loops.
type Table struct {
	Generation uint64
	Build      *tlsconf.Build // made its TLS configurations
	byPort     []*Farm        // by port number; nil where nobody listens

	Farms    map[uint32]*Farm // those that run, by stable number
	Backends Backends         // of all farms, by stable number
	// Fresh are the farms that the table this one followed did not have, or not as they
	// are: what is to be done once for a farm is done for them.
	Fresh []*Farm

	left     []*Farm     // farms of the table before that are not here as they are
	sources  []farm.Farm // of the configuration, which nobody changes
	compiled []*Farm     // each of sources as it was compiled; nil for one that does not run
}

// Bind makes the farm with that number the one behind a port. The table must not
// be in use yet.
func (t *Table) Bind(p *ports.Port, farm uint32) {
	for p.Number >= len(t.byPort) {
		t.byPort = append(t.byPort, nil)
	}
	t.byPort[p.Number] = t.Farms[farm]
}

// Listeners are the places farms listen at, by the number of the farm.
func (t *Table) Listeners() map[uint32][]farm.Listener {
	all := make(map[uint32][]farm.Listener, len(t.Farms))
	for id, f := range t.Farms {
		all[id] = []farm.Listener{f.listener}
	}
	return all
}

// Service is the service with that number, nil when no farm that runs has it.
func (t *Table) Service(id uint32) *Service {
	for _, f := range t.Farms {
		for i := range f.Services {
			if f.Services[i].ID == id {
				return &f.Services[i]
			}
		}
	}
	return nil
}

// Cut reports whether a backend is cut: what exchanges with it ends.
func (t *Table) Cut(id uint32) bool {
	b := t.Backends.Of(id)
	return b != nil && b.Mode == farm.MaintenanceCut
}

// Lost reports whether a backend is gone or cut: nobody keeps a connection to it.
func (t *Table) Lost(id uint32) bool { return t.Backends.Of(id) == nil || t.Cut(id) }

// Reached is how a backend of the table is reached, nil when it has none with that number.
func (t *Table) Reached(id uint32) *revive.Backend {
	if b := t.Backends.Of(id); b != nil {
		return &b.Reach
	}
	return nil
}

// Kinds lists which marked sockets the backends of the table need.
func (t *Table) Kinds() (kinds []marks.Kind) {
	for _, f := range t.Farms {
		kinds = append(kinds, f.kinds...)
	}
	return kinds
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	if len(missing) == 0 {
		return nil
	}
	for _, s := range f.HTTP.Services {
		for i := range s.Backends {
			k := marks.Of(f, &s.Backends[i])
			if err := missing[k]; err != nil {
				return fmt.Errorf("service %q: backend %d has %s: %w", s.Name, i, k, err)
			}
		}
	}
	return nil
}
