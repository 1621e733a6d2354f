package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/refused"
)

const (
	// readsPerTurn bounds the reads one body may take of a turn: 1 MiB at most.
	readsPerTurn = 4
	// bodyRead is how much of a request body is read at once.
	bodyRead = 64 << 10
	// bodyLate is what the log says of a body that stopped coming.
	bodyLate = "body not complete in time"
)

// forwardTo finds a backend for the request and sends it, or starts to
// connect. It goes on to the next backend as long as none has seen a byte.
func (ex *exchange) forwardTo() {
	if ex.keepsOwn() && ex.wait == nil && ex.takeKept() {
		ex.send()
		return
	}
	for {
		ex.recordTry()
		i, ok := ex.choose()
		if !ok {
			i, ok = ex.chooseDown()
		}
		if !ok {
			ex.noneLeft()
			return
		}
		ex.backend = &ex.service.Backends[i]
		ex.await()
		up, established, err := ex.transport(ex.destination())
		switch {
		case err == nil && established:
			ex.up = up
			ex.backendStats().Reuses++
			ex.recordFlag(accesslog.Reused)
			ex.send()
			return
		case err == nil:
			ex.up = up
			ex.connecting(1)
			if ex.head == nil {
				ex.save()
			}
			return
		}
		if status := ex.unreachable(i, err); status != 0 {
			ex.failed(status)
			return
		}
	}
}

// await counts the exchange as waiting for its response, for the algorithm
// that compares how many do.
func (ex *exchange) await() {
	if ex.service.Tracked {
		ex.waiting = true
		ex.backend.Load.Pending.Add(1)
	}
}

// arrived ends await.
func (ex *exchange) arrived() {
	if ex.waiting {
		ex.waiting = false
		ex.backend.Load.Pending.Add(-1)
	}
}

// connecting counts connects under way.
func (ex *exchange) connecting(by int) {
	if by > 0 {
		ex.phase = phaseConnect
		ex.backendStats().Pending++
	} else {
		ex.phase = phaseHead // not counted twice, whatever goes wrong next
		ex.backendStats().Pending--
	}
}

// BackendConnected implements backend.Owner.
func (ex *exchange) BackendConnected(began int64, own bool, err error) {
	defer ex.peer.Conn.Contain()
	if err != nil {
		ex.up = nil // whoever opened it has it back
	}
	ex.connecting(-1)
	if why := backend.ErrorOf(err); why != nil {
		ex.badResponse(why.Reason)
		return
	}
	if err != nil {
		if status := ex.unreachable(ex.index(), err); status != 0 {
			ex.failed(status)
			return
		}
		ex.forwardTo()
		return
	}
	s := ex.backendStats()
	if own {
		s.Connects++
		s.ConnectNanos += uint64(ex.w.loop.Now() - began)
	} else {
		s.Reuses++
	}
	ex.recordConnect(began)
	ex.w.engine.Prober.Reached(ex.backend.ID)
	ex.attempted()
	if ex.service.TLS != nil {
		ex.service.TLS.Worked(ex.backend.ID, ex.nameAsked())
	}
	up := ex.up
	ex.send()
	if ex.up == up {
		ex.ClientReadable()
	}
}

// index is the position of the chosen backend in its service.
func (ex *exchange) index() int {
	for i := range ex.service.Backends {
		if &ex.service.Backends[i] == ex.backend {
			return i
		}
	}
	return -1
}

// send hands the request, as far as it has come, to the backend.
func (ex *exchange) send() {
	w := ex.w
	b := ex.head
	if b == nil {
		b = w.loop.Scratch
	}
	b = ex.Address(&w.addressed, b, ex.backend)
	up := ex.up
	ex.phase, ex.sent = phaseHead, w.loop.Now()
	up.SetDeadline(ex.sent + ex.backend.Timeout)
	if err := ex.transmit(b); err != nil {
		// Refused as a whole: the connection had ended before, so the backend
		// has seen nothing of this request.
		if ex.head == nil {
			ex.save()
		}
		if !up.Reused() {
			ex.Tried = ex.Tried.With(ex.index()) // it resets what it accepts: once is enough
		}
		ex.again()
		return
	}
	s := ex.backendStats()
	s.Requests++
	s.Established++
	s.BytesOut += uint64(len(b))
	ex.counted = true
	ex.replayable = up.Reused() && ex.request.done() && ex.verb.Idempotent()
	switch {
	case ex.service.Retry != nil && ex.keeps(b):
	case !ex.replayable && !ex.service.Multiplexed: // a stream may be refused unseen
		ex.unsave()
	case ex.head == nil:
		ex.save()
	}
}

// again sends the saved request once more, on a new connection.
func (ex *exchange) again() {
	ex.backendStats().Retries++
	ex.drop()
	ex.fresh = true
	ex.forwardTo()
}

// Proceed implements client.Exchange.
func (ex *exchange) Proceed() {
	if ex.request.done() {
		ex.listen()
		return
	}
	ex.ClientReadable()
}

// listen has the client's end noticed once the whole request has come. Who waits in
// a queue is heard already.
func (ex *exchange) listen() {
	if ex.wait == nil {
		ex.client.Listen(false)
	}
}

// ClientReadable implements client.Exchange: it moves the request body on, until it
// pauses or ends.
func (ex *exchange) ClientReadable() {
	if ex.phase == phaseTunnel {
		ex.tunnelUp()
		return
	}
	if ex.up == nil || ex.phase == phaseConnect || ex.request.done() || ex.deaf {
		return
	}
	l := ex.w.loop
	for range readsPerTurn {
		if ex.up.Pending() != 0 {
			return // BackendDrained comes back here
		}
		n, err := ex.client.ReadBody(l.In[:bodyRead])
		if err == loop.ErrDry {
			ex.client.SetDeadline(l.Now() + ex.farm.RequestTimeout)
			return
		}
		if err != nil {
			ex.ClientGone()
			return
		}
		if !ex.sendBody(l.In[:n]) {
			return
		}
	}
	ex.client.Again()
}

// sendBody sends the next bytes of the request body. It reports whether more
// are wanted.
func (ex *exchange) sendBody(p []byte) bool {
	in, out, err := ex.request.take(p, ex.service.Multiplexed)
	if err != nil {
		ex.brokenBody(err)
		return false
	}
	ex.stats().BytesIn += uint64(in)
	ex.backendStats().BytesOut += uint64(out)
	ex.recordMoved(uint64(in), 0)
	err = ex.transmitBody(p[:out])
	ex.up.SetDeadline(ex.w.loop.Now() + ex.backend.Timeout)
	if in < len(p) {
		ex.client.Unread(p[in:])
	}
	if err != nil {
		// The backend ended early; it may have answered before. What it said,
		// or that it said nothing, is learned by reading.
		ex.deaf = true
		return false
	}
	if ex.request.done() {
		ex.listen()
		return false
	}
	return true
}

// brokenBody ends an exchange whose request body breaks the framing rules.
// The backend sees its connection end before the body did.
func (ex *exchange) brokenBody(err error) {
	ex.keepClient = false
	if ex.phase == phaseBody {
		class, _, reason := refused.Classify(err)
		ex.note(class, 0, reason)
		ex.stats().BadRequests++
		ex.Abort()
		return
	}
	ex.refuse(err)
}

// BackendDrained implements backend.Owner: there is room for more of the body.
func (ex *exchange) BackendDrained() {
	defer ex.peer.Conn.Contain()
	ex.ClientReadable()
}

// ClientExpired implements client.Exchange: the client is silent.
func (ex *exchange) ClientExpired() {
	switch {
	case ex.wait != nil:
		ex.waitedTooLong()
	case ex.phase == phaseTunnel:
		ex.ClientGone()
	case ex.client.Pending() != 0:
		if ex.client.Stalled(ex.farm.RequestTimeout) {
			ex.stats().Timeouts++
			ex.note(refused.Timeout, 0, "answer not taken in time")
			cl := ex.client
			ex.End()
			cl.Abort(false)
		}
	case ex.request.done() || ex.phase == phaseConnect || ex.up == nil || ex.up.Pending() != 0:
		ex.client.Hear() // the other side is what keeps the exchange waiting
	case ex.phase == phaseBody:
		ex.stats().Timeouts++
		ex.note(refused.Timeout, 0, bodyLate)
		ex.Abort()
	default:
		ex.stats().Timeouts++
		ex.note(refused.Timeout, 408, bodyLate)
		ex.keepClient = false
		ex.fail(408)
	}
}
