package proxy

import (
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/l7/dial"
)

// CutOff ends the exchanges and tunnels with the backends of these stable numbers, and
// returns how many there were; idle connections to them close. Clients see what
// those of a backend see that is put into maintenance and cut.
func (e *Engine) CutOff(backends []uint32) int {
	meant := engine.Among(backends)
	return e.Sum(func(w *worker) int {
		ended := w.Server.CutOff(meant)
		w.pool.Retain(func(id uint32) *dial.Target {
			if b := w.engine.table.Load().Backends[id]; b != nil && !meant(id) {
				return &b.Target
			}
			return nil
		})
		return ended
	})
}
