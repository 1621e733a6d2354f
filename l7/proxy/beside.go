package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/l7/table"
)

// What goes on beside the loops: backends that are down are tried again
// (core/revive), those that are ejected are let in again, queues hear of what no
// exchange tells them, and sessions that expired are forgotten.

const besideEvery = 100 * time.Millisecond

// lost marks a backend down after a failed connect. Any loop may call it; it
// is not part of the hot path. An exchange that began before a change may fail
// where the backend is not reached any more: that says nothing of it now.
func (e *Engine) lost(b *table.Backend, cause error) {
	e.Prober.Lost(b.ID, b.Reach.Reach, cause, func() *revive.Backend { return e.reachedNow(b.ID) })
}

// reachedNow is how a backend is reached now; nil when it is gone.
func (e *Engine) reachedNow(id uint32) *revive.Backend {
	if now := e.table.Load().Backends[id]; now != nil {
		return &now.Reach
	}
	return nil
}

// beside runs until Close.
func (e *Engine) beside() {
	ticker := time.NewTicker(besideEvery)
	defer ticker.Stop()
	var version uint64 // of the board, at the last look
	for {
		select {
		case <-e.stop:
			return
		case now := <-ticker.C:
			e.ejections.readmit(now)
			if v := e.Board.Version(); v != version {
				version = v
				e.registry.Stir()
			}
			e.table.Load().Sweep()
		}
	}
}
