package proxy

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/dial"
)

// Faults for the panic tests. Each breaks a certain step.
const (
	BreakPicking = iota // selecting a backend in the current table
	BreakService        // learning a session or selecting again
	BreakFarm           // responding, aborting or counting for the farm
	BreakBackend        // counting for the backend, so that aborting fails too
)

// Break breaks the exchanges in progress, or the current table, and returns the number of
// exchanges.
func (e *Engine) Break(what int) (exchanges int) {
	e.OnLoops(func(w *worker) {
		if what == BreakPicking {
			for _, f := range e.table.Load().ByID {
				for i := range f.Services {
					f.Services[i].Picker = nil
				}
			}
		}
		w.Exchanges(func(ex client.Exchange) { exchanges += ex.(interface{ spoil(what int) int }).spoil(what) })
	})
	return exchanges
}

func (ex *exchange) spoil(what int) (exchanges int) {
	switch what {
	case BreakService:
		ex.service = nil
	case BreakFarm:
		ex.farm = nil
	case BreakBackend:
		ex.backend = nil
	}
	return 1
}

func (t *tunnel) spoil(what int) (exchanges int) {
	switch what {
	case BreakFarm:
		t.farm = nil
	case BreakBackend:
		t.backend = nil
	}
	return 1
}

// TakePanics returns the number of contained panics and resets it.
func (e *Engine) TakePanics() (n uint64) {
	e.OnLoops(func(w *worker) {
		count := &w.shard.Loop().Panics
		n += *count
		*count = 0
	})
	return n
}

// FailBackends fails the HTTP/1 backend connections in use, as a loop does after a panic in
// their handling.
func (e *Engine) FailBackends() {
	e.OnLoops(func(w *worker) {
		var all []*dial.Conn
		w.Exchanges(func(ex client.Exchange) {
			switch ex := ex.(type) {
			case *exchange:
				all = append(all, ex.up.(*dial.Conn))
			case *tunnel:
				all = append(all, ex.up.(*dial.Conn))
			}
		})
		for _, up := range all {
			c := up.Conn
			c.Abort()
			up.Failed(c, loop.ErrPanic)
		}
	})
}
