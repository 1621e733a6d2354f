package table

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ports"
)

// Farm is the one behind a port; nil when there is none.
func (t *Table) Farm(p *ports.Port) *Farm {
	if p.Number < len(t.byPort) {
		return t.byPort[p.Number]
	}
	return nil
}

// Place makes the farm with that number the one behind a port.
func (t *Table) Place(p *ports.Port, farm uint32) {
	for p.Number >= len(t.byPort) {
		t.byPort = append(t.byPort, nil)
	}
	t.byPort[p.Number] = t.Farms[farm]
}

// Listeners are the places farms listen at, by the number of the farm.
func (t *Table) Listeners() map[uint32][]farm.Listener {
	all := make(map[uint32][]farm.Listener, len(t.Farms))
	for id, f := range t.Farms {
		all[id] = []farm.Listener{f.Listener}
	}
	return all
}
