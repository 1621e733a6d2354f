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

// endWait ends the wait of an exchange that got a backend.
func (ex *exchange) endWait() {
	wt := ex.queue.place
	if wt == nil {
		return
	}
	ex.stats().Queued--
	ex.record.queued(ex.w.loop.Now() - ex.queue.since)
	ex.client.SetDeadline(0)
	q, own := wt.queue, wt.own
	wt.forget()
	if own != 0 {
		ex.passTurn(q, own)
	} else if free, _ := ex.service.Picker.Room(); free {
		ex.queue.shared.Released()
	}
}

// passTurn lets the next waiter in q, for room at the backend own, try unless that is full.
func (ex *exchange) passTurn(q *state.Queue, own uint32) {
	sv := ex.service
	if i := sv.Find(own); i < 0 || !sv.Picker.Full(i) || !sv.Picker.Up(i) || sv.Backends[i].Mode == farm.MaintenanceCut {
		q.Released()
	}
}

// released reports that the chosen backend may have room.
func (ex *exchange) released() {
	if ex.backend != nil {
		ex.backend.Queue.Released()
	}
	ex.queue.shared.Released()
}

// noneLeft continues without an available backend.
func (ex *exchange) noneLeft() {
	ex.endAttempt()
	if ex.retry.last == nil {
		if ex.enqueue() {
			return
		}
		if ex.choice.Waits(ex.service) { // the queue of its own backend is full
			ex.choice.Roams = true
			ex.record.noAttempt()
			ex.forwardTo()
			return
		}
		if ex.sending.unshaken > 0 {
			ex.failed(502)
			return
		}
		if ex.queue.late && ex.lacksRoom() {
			ex.noteLate()
		} else {
			ex.stats().NoBackend++
			ex.noteUnserved()
		}
	}
	ex.failed(503)
}

// lacksRoom reports whether some backends could serve the exchange, and all of these are full.
func (ex *exchange) lacksRoom() bool {
	_, usable := ex.service.Picker.Room()
	return ex.choice.Tried == balance.Tried{} && (usable || ex.choice.Full > 0)
}

// noteLate counts and logs that no backend had room before the timeout of the queue.
func (ex *exchange) noteLate() {
	s := ex.stats()
	s.QueueTimeouts++
	s.NoBackend++
	ex.note(rejected.NoBackend, 503, "no backend had room in time")
}

// mayWait reports whether an exchange without a backend may wait and has something to wait
// for.
func (ex *exchange) mayWait() bool {
	sv := ex.service
	if sv.QueueLength == 0 && ex.queue.place == nil || ex.queue.waits >= maxWaits {
		return false
	}
	return ex.waitsForOwn() || ex.choice.MayWait(sv)
}

// waitsForOwn reports whether the exchange should wait for room at its client's own backend.
// Clients that wait there stay if the queue is switched off.
func (ex *exchange) waitsForOwn() bool {
	sv, wt := ex.service, ex.queue.place
	return ex.choice.Waits(sv) || sv.QueueLength == 0 && wt != nil && ex.choice.Full > 0 && wt.own == sv.Backends[ex.choice.Full-1].ID
}

// enqueue queues an exchange without a backend. It returns false if the exchange must be
// refused: queueing is disabled, the queue is full, or waiting is pointless.
func (ex *exchange) enqueue() bool {
	if !ex.mayWait() {
		return false
	}
	q, own := ex.queue.shared, uint32(0)
	if ex.waitsForOwn() {
		b := &ex.service.Backends[ex.choice.Full-1]
		q, own = b.Queue, b.ID
	}
	if wt := ex.queue.place; wt != nil && wt.queue == q {
		wt.turn = false
		q.Rejoin(&wt.Waiting)
	} else if !ex.join(q, own) {
		return false
	}
	ex.record.noAttempt()
	// Backends that failed the exchange may be usable again by then. Otherwise the health
	// table excludes them.
	ex.choice.Tried, ex.backend = balance.Tried{}, nil
	if own != 0 {
		ex.passTurn(q, own)
		return true
	}
	if free, usable := ex.service.Picker.Room(); free || !usable {
		ex.queue.shared.Released()
	}
	return true
}

// join enters the queue q, of the backend own or of the service. It leaves the one in which
// the exchange waits; if queues are switched off, it is not refused and keeps its deadline.
func (ex *exchange) join(q *state.Queue, own uint32) bool {
	sv, s := ex.service, ex.stats()
	front, limit, keeps := ex.choice.Turned, sv.QueueLength, false
	if ex.queue.place != nil {
		front = false // several come from the other queue, in order
		ex.leaveQueue()
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
	ex.queue.place, ex.queue.since = wt, ex.w.loop.Now()
	if ex.queue.waits++; ex.queue.waits == 1 {
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

// leaveQueue removes an exchange that ends. If it was its turn, the turn is passed on.
func (ex *exchange) leaveQueue() {
	wt := ex.queue.place
	q := wt.queue
	ex.stats().Queued--
	ex.record.queued(ex.w.loop.Now() - ex.queue.since)
	switch {
	case wt.turn:
		wt.forget()
		q.Released()
	case q.Leave(&wt.Waiting):
		wt.forget()
	default: // called passes the turn on
		ex.queue.place, wt.ex = nil, nil
	}
}

// waitedTooLong responds after a timeout in the queue. A client that waited for its own
// backend gets another one if there is room.
func (ex *exchange) waitedTooLong() {
	if ex.queue.place.own != 0 {
		ex.leaveQueue()
		ex.client.SetDeadline(0)
		ex.choice.Turned, ex.choice.Roams, ex.queue.late, ex.queue.waits = true, true, true, maxWaits
		ex.goOn()
		return
	}
	ex.noteLate()
	ex.fail(503)
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
			ex.moveTo(f, sv)
			return
		}
	}
}

func (ex *exchange) moveTo(f *table.Farm, sv *table.Service) {
	ex.choice.MoveTo(sv, ex.service)
	ex.farm, ex.service, ex.queue.shared = f, sv, sv.Queue
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

func (ex *exchange) chooseInTurn() (int, bool) {
	q := ex.queue.shared
	if !ex.choice.Turned && q.Len() > 0 {
		ex.choice.Hold(ex.service)
		return -1, false
	}
	i, ok := ex.pick()
	if !ok {
		return -1, false
	}
	ex.choice.Turned = true
	ex.endWait()
	return i, true
}
