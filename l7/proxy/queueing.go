package proxy

import (
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// maxWaits bounds how often one exchange waits: it does again when what it
// waited for cannot be reached.
const maxWaits = 8

// queueWait is an exchange's wait for a backend that has room.
type queueWait struct {
	queue  *state.Queue // of the service
	wait   *waiter      // its place there; nil while it does not wait
	waits  uint8        // how often it waited
	queued int64        // when it began to wait
	turned bool         // it need not stand behind those who wait
}

// endWait ends the wait of an exchange that got a backend.
func (ex *exchange) endWait() {
	wt := ex.wait
	if wt == nil {
		return
	}
	ex.stats().Queued--
	ex.recordQueued()
	ex.client.SetDeadline(0)
	wt.forget()
	if free, _ := ex.service.Picker.Room(); free {
		ex.queue.Released()
	}
}

// noneLeft goes on when there is no backend to be had.
func (ex *exchange) noneLeft() {
	ex.endAttempt()
	if ex.last == nil {
		if ex.enqueue() {
			return
		}
		if ex.unshaken > 0 {
			ex.failed(502)
			return
		}
		ex.stats().NoBackend++
		ex.noteUnserved()
	}
	ex.failed(503)
}

// mayWait reports whether an exchange that got no backend has something to wait
// for, and the service lets it.
func (ex *exchange) mayWait() bool {
	sv := ex.service
	if sv.QueueLength == 0 && ex.wait == nil || ex.waits >= maxWaits {
		return false
	}
	return ex.MayWait(sv)
}

// enqueue lets an exchange that got no backend wait for one. It reports false
// when it is to be answered: nobody may wait, too many do, or there is nothing
// to wait for.
func (ex *exchange) enqueue() bool {
	if !ex.mayWait() {
		return false
	}
	if wt := ex.wait; wt != nil {
		wt.turn = false
		ex.queue.Rejoin(&wt.Waiting)
	} else if !ex.join() {
		return false
	}
	if e := ex.entry; e != nil {
		e.Tries-- // it was none
	}
	// Backends that failed the exchange may be usable again by then; if they
	// are not, the health table says so.
	ex.Tried, ex.backend = balance.Tried{}, nil
	if free, usable := ex.service.Picker.Room(); free || !usable {
		ex.queue.Released()
	}
	return true
}

// join begins to wait.
func (ex *exchange) join() bool {
	sv, s := ex.service, ex.stats()
	wt := ex.w.waiterOf(ex, ex.queue)
	if !ex.queue.Join(&wt.Waiting, sv.QueueLength, ex.turned) {
		wt.ex = nil
		ex.w.waiters.Put(wt)
		s.QueueFull++
		return false
	}
	ex.wait, ex.queued = wt, ex.w.loop.Now()
	if ex.waits++; ex.waits == 1 {
		s.QueuedTotal++
	}
	s.Queued++
	if ex.head == nil {
		ex.save()
	}
	ex.client.SetDeadline(ex.w.loop.Now() + sv.QueueTimeout)
	ex.client.Listen(true)
	return true
}

// leaveQueue ends the wait of an exchange that ends. A turn it had is passed on.
func (ex *exchange) leaveQueue() {
	wt := ex.wait
	q := wt.queue
	ex.stats().Queued--
	ex.recordQueued()
	switch {
	case wt.turn:
		wt.forget()
		q.Released()
	case q.Leave(&wt.Waiting):
		wt.forget()
	default: // it was called: called passes it on
		ex.wait, wt.ex = nil, nil
	}
}

// waitedTooLong answers an exchange whose time in the queue is over.
func (ex *exchange) waitedTooLong() {
	s := ex.stats()
	s.QueueTimeouts++
	s.NoBackend++
	ex.note(rejected.NoBackend, 503, "no backend had room in time")
	ex.fail(503)
}

// renew moves an exchange that waited to the table in use. What was made of its
// request stays as it is; nothing else has been done for it yet. When its
// service is gone, or needs requests made in another way, it ends on the table
// it began with.
func (ex *exchange) renew() {
	f := ex.w.engine.table.Load().Farms[ex.farm.ID]
	if f == nil || f == ex.farm {
		return
	}
	for i := range f.Services {
		if sv := &f.Services[i]; sv.ID == ex.service.ID && sv.Redirect == nil && sv.DNSFarm == "" && sv.Multiplexed == ex.service.Multiplexed {
			ex.moveTo(f, sv)
			return
		}
	}
}

func (ex *exchange) moveTo(f *table.Farm, sv *table.Service) {
	ex.MoveTo(sv, ex.service, ex.peer.Conn.Peer().Addr())
	ex.farm, ex.service, ex.queue = f, sv, sv.Queue
}

// waiter is an exchange that waits in a queue. All but its place belongs to the
// loop of the exchange.
type waiter struct {
	state.Waiting
	queue *state.Queue
	w     *worker
	ex    *exchange // nil once it left
	turn  bool      // its turn is now
}

// waiterOf gives an exchange a place to take in a queue.
func (w *worker) waiterOf(ex *exchange, q *state.Queue) *waiter {
	wt := w.waiters.Get()
	if wt.Call == nil {
		run := wt.called
		wt.Call = func() { wt.w.loop.Post(run) }
	}
	wt.w, wt.ex, wt.queue, wt.turn = w, ex, q, false
	return wt
}

// forget gives up the place of an exchange that waits no more.
func (wt *waiter) forget() {
	wt.ex.wait, wt.ex = nil, nil
	wt.turn = false
	wt.w.waiters.Put(wt)
	wt.queue.Done()
}

// called is the waiter's turn, on the loop of its exchange.
func (wt *waiter) called() {
	ex, q := wt.ex, wt.queue
	if ex == nil { // it left after it was called: the turn is the next one's
		wt.w.waiters.Put(wt)
		q.Done()
		q.Wake()
		return
	}
	defer ex.peer.Conn.Contain()
	peer := ex.peer
	corked := peer.Cork()
	wt.turn, ex.turned = true, true
	ex.renew()
	ex.goOn()
	peer.Uncork(corked)
}

func (ex *exchange) chooseInTurn() (int, bool) {
	q := ex.queue
	if !ex.turned && q.Len() > 0 {
		return -1, false
	}
	i, ok := ex.pick()
	if !ok {
		return -1, false
	}
	ex.turned = true
	ex.endWait()
	return i, true
}
