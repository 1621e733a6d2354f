package enginetest

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ports"
)

// Ports are the ports of an engine, by address.
type Ports map[farm.Listener]*ports.Port

// Bind assigns farms to the ports of their listeners, as an engine does before it uses a
// table.
func (p Ports) Bind(table interface{ Bind(*ports.Port, uint32) }, came map[uint32][]farm.Listener) {
	for id, list := range came {
		for _, l := range list {
			if p[l] == nil {
				p[l] = &ports.Port{Listener: l, Number: len(p)}
			}
			table.Bind(p[l], id)
		}
	}
}
