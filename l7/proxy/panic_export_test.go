package proxy

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/dial"
)

// What the panic tests break, each so that a certain step cannot be done.
const (
	BreakPicking = iota // whoever chooses a backend on the table in use
	BreakService        // who learns a session, or chooses again
	BreakFarm           // who answers, gives up or counts for the farm
	BreakBackend        // who counts for the backend, so that giving up fails too
)

// Break breaks what the exchanges under way need, or the table in use, and
// reports how many exchanges there were.
func (e *Engine) Break(what int) (exchanges int) {
	e.OnLoops(func(w *worker) {
		if what == BreakPicking {
			for _, f := range e.table.Load().Farms {
				for i := range f.Services {
					f.Services[i].Picker = nil
				}
			}
		}
		w.Exchanges(func(ex client.Exchange) { exchanges += ex.(*exchange).spoil(what) })
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

// TakePanics gives the number of panics that were contained, and forgets them.
func (e *Engine) TakePanics() (n uint64) {
	e.OnLoops(func(w *worker) {
		count := &w.shard.Loop().Panics
		n += *count
		*count = 0
	})
	return n
}

// FailBackends ends the connections of HTTP/1 to backends that exchanges use, as a
// loop does when the handling of one fails.
func (e *Engine) FailBackends() {
	e.OnLoops(func(w *worker) {
		var all []*dial.Conn
		w.Exchanges(func(ex client.Exchange) { all = append(all, ex.(*exchange).up.(*dial.Conn)) })
		for _, up := range all {
			c := up.Conn
			c.Abort()
			up.Failed(c, loop.ErrPanic)
		}
	})
}
