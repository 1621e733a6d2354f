package proxy

import "github.com/sluicelb/sluice/l7/state"

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
