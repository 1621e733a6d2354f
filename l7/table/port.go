package table

import (
	"github.com/sluicelb/sluice/core/ports"
)

func (t *Table) Farm(p *ports.Port) *Farm {
	if p.Number < len(t.ByPort) {
		return t.ByPort[p.Number]
	}
	return nil
}
