package table

import (
	"github.com/sluicelb/sluice/core/farm"
)

func Cut(t *Table, id uint32) bool {
	b := t.Backends[id]
	return b != nil && b.Mode == farm.MaintenanceCut
}

// Lost reports whether a backend is gone or cut: nobody keeps a connection to it.
func (t *Table) Lost(id uint32) bool { return t.Backends[id] == nil || Cut(t, id) }
