package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// exchange is one request and its response, from the complete request head to
// the last byte of the response.
type exchange struct {
	progress
	request  body
	response body
}

// progress is all of an exchange that is cleared when it ends: the bodies, which
// are large, begin anew by themselves.
type progress struct {
	w       *worker
	client  client.Client
	peer    *client.Peer // its connection
	farm    *table.Farm  // of the table the exchange began with
	service *table.Service
	backend *table.Backend
	up      backend.Transport // nil before a backend was found and after it was let go
	phase   phase

	verb http1.Verb
	host []byte // the request's, its array kept for the next exchange

	oldClient  bool // HTTP/1.0: no chunks, no 1xx
	keepClient bool // the client's connection may go on
	upgrade    bool // the client asked for another protocol
	counted    bool // the backend's counters say that it is in flight there
	waiting    bool // counted on the backend's load as awaiting the response
	binds      bool // the backend's connection is the client's, by a log-in

	table.Choice
	table.Outgoing
	loginWait
	queueWait
	reviving
	sending
	receiving
	retries
	encoding
	tunnel
	record
}

// phase is where an exchange stands on its backend side.
type phase uint8

const (
	phaseConnect phase = iota // the connection is being opened
	phaseHead                 // the response head is awaited
	phaseBody                 // the response body flows
	phaseTunnel               // another protocol: bytes flow both ways
)

// stats are the farm's counters of this loop.
func (ex *exchange) stats() *stats.Farm { return ex.w.shard.Farm(ex.farm.ID) }

// backendStats are the counters of the chosen backend on this loop.
func (ex *exchange) backendStats() *stats.Backend { return ex.w.shard.Backend(ex.backend.ID) }

// save keeps the request in the scratch buffer for sending later or again.
func (ex *exchange) save() {
	b := ex.w.loop.Scratch
	ex.head = append(ex.w.loop.Buffers.Get(len(b)), b...)
}

// unsave lets the saved request go: from now on it cannot be sent again.
func (ex *exchange) unsave() {
	if ex.head != nil {
		ex.w.loop.Buffers.Put(ex.head)
		ex.head = nil
	}
	ex.replayable = false
}

// release ends the use of the chosen backend: the picker's and the counters'
// view of it, not the connection.
func (ex *exchange) release() {
	ex.arrived()
	if held := ex.Held; held != nil {
		ex.Held = nil
		held.Done()
		ex.queue.Released()
	}
	if ex.counted {
		ex.counted = false
		ex.backendStats().Established--
	}
}

// drop closes the backend's connection, if there is one.
func (ex *exchange) drop() {
	if up := ex.up; up != nil {
		ex.up = nil
		up.Discard() // first: an exchange that is broken may fail at counting
		if ex.phase == phaseConnect {
			ex.connecting(-1)
		}
	}
	ex.release()
}

// End implements client.Exchange: it gives the exchange back, and its client goes on
// without it.
func (ex *exchange) End() {
	if ex.login != nil {
		ex.login.leave(ex)
	}
	ex.drop()
	ex.endAttempt()
	if ex.wait != nil {
		ex.leaveQueue()
	}
	ex.recordEnd()
	ex.unsave()
	if ex.ahead != nil {
		ex.w.loop.Buffers.Put(ex.ahead)
	}
	if ex.last != nil {
		ex.w.loop.Buffers.Put(ex.last)
	}
	if ex.encoder != nil {
		ex.returnEncoder()
	}
	undo := ex.Undo
	undo.Reset()
	ex.client.Serve(nil)
	w := ex.w
	key, host, id := ex.Key[:0], ex.host[:0], ex.id[:0]
	ex.progress = progress{}
	ex.Key, ex.host, ex.id = key, host, id
	ex.request.clear()
	ex.response.clear()
	w.exchanges.Put(ex)
	ex.Undo = undo
}

// finish completes the exchange after the last byte of the response.
func (ex *exchange) finish() {
	cl := ex.client
	keep, complete := ex.keepClient, ex.request.done()
	if ex.up != nil {
		ex.release()
		ex.giveBack(complete)
	}
	ex.End()
	cl.Finish(keep, complete)
}

// Abort implements client.Exchange: it ends an exchange whose response cannot be
// completed. A client that got a part of it must not take it for the whole: chunked
// and counted bodies say so themselves, any other end is made a reset.
func (ex *exchange) Abort() {
	cl, delimited := ex.client, ex.delimited()
	ex.End()
	cl.Abort(delimited)
}

// Reconcile implements client.Exchange: it ends where its backend is to be cut off.
func (ex *exchange) Reconcile(t *table.Table) {
	if ex.backend != nil && t.Cut(ex.backend.ID) {
		ex.Abort()
	}
}

// BodyRefused implements client.Exchange.
func (ex *exchange) BodyRefused() bool { return ex.bodyRefused }

// Watches implements client.Exchange.
func (ex *exchange) Watches() client.Watch {
	switch {
	case ex.phase == phaseTunnel:
		return client.WatchNothing
	case ex.service.IgnoreClose || !ex.request.done():
		return client.WatchResets
	}
	return client.WatchCloses
}

// delimited reports whether the client can tell that the answer is not whole, if it
// has a part of it, when the connection just ends.
func (ex *exchange) delimited() bool {
	return ex.phase < phaseBody || ex.response.kind == http1.BodyLength || ex.response.kind == http1.BodyChunked && !ex.oldClient
}

// ClientGone implements client.Exchange: it ends one whose client is no longer there.
// A client that only ended its direction may still read.
func (ex *exchange) ClientGone() {
	cl := ex.client
	delimited := ex.phase == phaseTunnel || ex.delimited()
	ex.recordFlag(accesslog.AbortedByClient)
	if ex.phase != phaseTunnel {
		ex.stats().ClientAborts++
	}
	if ex.phase == phaseHead && ex.up != nil && ex.request.done() && ex.w.loop.Now()-ex.sent >= int64(patience) {
		ex.backendStats().Abandoned++
	}
	ex.End()
	cl.Close(delimited)
}

// patience is how long a client waits at least before its going says something
// of the backend. Few wait until restimeout.
const patience = time.Second
