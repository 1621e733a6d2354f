package proxy

import (
	"math"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// maxWaits bounds the waits of one exchange. It waits again if the backend it waited for
// cannot be reached.
const maxWaits = 8

// queueWait is an exchange's wait for a backend with room.
type queueWait struct {
	shared *state.Queue // of the service
	place  *waiter      // in it, or in the queue of its own backend; nil while not waiting
	waits  uint8        // number of waits
	late   bool         // it waited too long for its own backend and looks for another
	since  int64        // start of the wait
}

// mayWait reports whether an exchange without a backend may wait and has something to wait
// for.
func (qw *queueWait) mayWait(ex *exchange) bool {
	sv := ex.service
	if sv.QueueLength == 0 && qw.place == nil || qw.waits >= maxWaits {
		return false
	}
	return qw.waitsForOwn(ex) || ex.choice.MayWait(sv)
}

// waitsForOwn reports whether the exchange should wait for room at its client's own backend.
// Clients that wait there stay if the queue is switched off.
func (qw *queueWait) waitsForOwn(ex *exchange) bool {
	sv, wt := ex.service, qw.place
	return ex.choice.Waits(sv) ||
		sv.QueueLength == 0 && wt != nil && ex.choice.Full > 0 && wt.own == sv.Backends[ex.choice.Full-1].ID
}

// enter queues an exchange without a backend. It returns false if the exchange must be
// refused: queueing is disabled, the queue is full, or waiting is pointless.
func (qw *queueWait) enter(ex *exchange) bool {
	if !qw.mayWait(ex) {
		return false
	}
	q, own := qw.shared, uint32(0)
	if qw.waitsForOwn(ex) {
		b := &ex.service.Backends[ex.choice.Full-1]
		q, own = b.Queue, b.ID
	}
	if wt := qw.place; wt != nil && wt.queue == q {
		wt.turn = false
		q.Rejoin(&wt.Waiting)
	} else if !qw.join(ex, q, own) {
		return false
	}
	ex.record.noAttempt()
	// Backends that failed the exchange may be usable again by then. Otherwise the health
	// table excludes them.
	ex.choice.Tried, ex.backend = balance.Tried{}, nil
	if own != 0 {
		passTurn(ex.service, q, own)
		return true
	}
	if free, usable := ex.service.Picker.Room(); free || !usable {
		qw.shared.Released()
	}
	return true
}

// join enters the queue q, of the backend own or of the service. It leaves the one in which
// the exchange waits; if queues are switched off, it is not refused and keeps its deadline.
func (qw *queueWait) join(ex *exchange, q *state.Queue, own uint32) bool {
	sv, s := ex.service, ex.stats()
	front, limit, keeps := ex.choice.Turned, sv.QueueLength, false
	if qw.place != nil {
		front = false // several come from the other queue, in order
		qw.leave(ex)
		if keeps = limit == 0; keeps {
			limit = math.MaxInt64
		} else {
			ex.client.SetDeadline(0)
		}
	}
	wt := ex.w.waiterOf(ex, q)
	wt.own = own
	if !q.Join(&wt.Waiting, limit, front) {
		wt.ex = nil
		ex.w.waiters.Put(wt)
		if own == 0 {
			s.QueueFull++
		}
		return false
	}
	qw.place, qw.since = wt, ex.w.loop.Now()
	if qw.waits++; qw.waits == 1 {
		s.QueuedTotal++
	}
	s.Queued++
	if ex.saved.bytes == nil {
		ex.saved.store(ex.w.loop)
	}
	if !keeps {
		ex.client.SetDeadline(ex.w.loop.Now() + sv.QueueTimeout)
	}
	ex.client.Listen(true)
	return true
}

// end ends the wait of an exchange that got a backend.
func (qw *queueWait) end(ex *exchange) {
	wt := qw.place
	if wt == nil {
		return
	}
	ex.stats().Queued--
	ex.record.queued(ex.w.loop.Now() - qw.since)
	ex.client.SetDeadline(0)
	q, own := wt.queue, wt.own
	wt.forget()
	if own != 0 {
		passTurn(ex.service, q, own)
	} else if free, _ := ex.service.Picker.Room(); free {
		qw.shared.Released()
	}
}

// leave removes an exchange that ends. If it was its turn, the turn is passed on.
func (qw *queueWait) leave(ex *exchange) {
	wt := qw.place
	q := wt.queue
	ex.stats().Queued--
	ex.record.queued(ex.w.loop.Now() - qw.since)
	switch {
	case wt.turn:
		wt.forget()
		q.Released()
	case q.Leave(&wt.Waiting):
		wt.forget()
	default: // called passes the turn on
		qw.place, wt.ex = nil, nil
	}
}

// passTurn lets the next waiter in q, for room at the backend own, try unless that is full.
func passTurn(sv *table.Service, q *state.Queue, own uint32) {
	if i := sv.Find(own); i < 0 || !sv.Picker.Full(i) || !sv.Picker.Up(i) || sv.Backends[i].Mode == farm.MaintenanceCut {
		q.Released()
	}
}

// timeOut responds after a timeout in the queue. A client that waited for its own
// backend gets another one if there is room.
func (qw *queueWait) timeOut(ex *exchange) {
	if qw.place.own != 0 {
		qw.leave(ex)
		ex.client.SetDeadline(0)
		ex.choice.Turned, ex.choice.Roams, qw.late, qw.waits = true, true, true, maxWaits
		ex.goOn()
		return
	}
	qw.noteLate(ex)
	ex.fail(503)
}

// lacksRoom reports whether some backends could serve the exchange, and all of these are full.
func (qw *queueWait) lacksRoom(ex *exchange) bool {
	_, usable := ex.service.Picker.Room()
	return ex.choice.Tried == balance.Tried{} && (usable || ex.choice.Full > 0)
}

// noteLate counts and logs that no backend had room before the timeout of the queue.
func (qw *queueWait) noteLate(ex *exchange) {
	s := ex.stats()
	s.QueueTimeouts++
	s.NoBackend++
	ex.note(rejected.NoBackend, 503, "no backend had room in time")
}

// renew moves an exchange that waited to the current table. Its prepared request stays
// unchanged; nothing else has been done yet. If its service is gone or requires a different
// request, it stays on the old table.
func (ex *exchange) renew() {
	f := ex.w.engine.table.Load().ByID[ex.farm.ID]
	if f == nil || f == ex.farm {
		return
	}
	for i := range f.Services {
		if sv := &f.Services[i]; sv.ID == ex.service.ID && sv.Redirect == nil && sv.DNSFarm == "" && sv.Multiplexed == ex.service.Multiplexed {
			ex.choice.MoveTo(sv, ex.service)
			ex.farm, ex.service, ex.queue.shared = f, sv, sv.Queue
			return
		}
	}
}

// choose picks a backend unless queued exchanges go first.
func (qw *queueWait) choose(ex *exchange) (int, bool) {
	q := qw.shared
	if !ex.choice.Turned && q.Len() > 0 {
		ex.choice.Hold(ex.service)
		return -1, false
	}
	i, ok := ex.pick()
	if !ok {
		return -1, false
	}
	ex.choice.Turned = true
	qw.end(ex)
	return i, true
}

// waiter is an exchange in a queue. Everything except its place belongs to the loop of the
// exchange.
type waiter struct {
	state.Waiting
	queue *state.Queue
	own   uint32 // the backend of the queue; 0 in that of the service
	w     *worker
	ex    *exchange // nil after it left
	turn  bool      // its turn is now
}

// waiterOf returns a queue place for an exchange.
func (w *worker) waiterOf(ex *exchange, q *state.Queue) *waiter {
	wt := w.waiters.Get()
	if wt.Call == nil {
		run := wt.called
		wt.Call = func() { wt.w.loop.Post(run) }
	}
	wt.w, wt.ex, wt.queue, wt.turn = w, ex, q, false
	return wt
}

// forget releases the place of an exchange that no longer waits.
func (wt *waiter) forget() {
	wt.ex.queue.place, wt.ex = nil, nil
	wt.turn = false
	wt.w.waiters.Put(wt)
	wt.queue.Done()
}

// called is the waiter's turn, on the loop of its exchange.
func (wt *waiter) called() {
	ex, q := wt.ex, wt.queue
	if ex == nil { // it left after it was called: the next one gets the turn
		wt.w.waiters.Put(wt)
		q.Done()
		q.Wake()
		return
	}
	defer ex.peer.Conn.Contain()
	peer := ex.peer
	corked := peer.Cork()
	wt.turn, ex.choice.Turned = true, true
	ex.renew()
	ex.goOn()
	peer.Uncork(corked)
}
