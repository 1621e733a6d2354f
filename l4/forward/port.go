package forward

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ports"
)

type port = ports.Port

// Place makes the farm with that number the one behind a port.
func (t *table) Place(p *port, farm uint32) {
	for p.Number >= len(t.ports) {
		t.ports = append(t.ports, nil)
	}
	t.ports[p.Number] = t.byID[farm]
}

// Listeners are the places farms listen at, by the number of the farm.
func (t *table) Listeners() map[uint32][]farm.Listener {
	all := make(map[uint32][]farm.Listener, len(t.byID))
	for id, f := range t.byID {
		all[id] = f.listeners
	}
	return all
}
